"""What do we know, and what does it prove?

An alert's evidence goes through here once: `ingest` reads and redacts it, `kinds` cut it into documents, `index` keeps
them, `context` finds when and where it broke, `ranking` orders what may explain it, `judgement` says what it proves.
Imports nothing else of ours.
"""
