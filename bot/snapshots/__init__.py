"""Snapshots of what is known whatever happens now: code, changes, contracts, postmortems, tickets (rows C5, C9).

`build.py` makes one, `evaluate.py` says whether it may be published, `book.py` says which there are and which is in
force. Telemetry is never in a snapshot: it is always of the moment.
"""
