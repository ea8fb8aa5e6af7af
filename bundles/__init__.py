"""How does someone else reproduce it?

A failing test from what production recorded, run in a sandbox, bisected, patched, and packed with its evidence.
Imports only `retrieval.model`, `retrieval.ports` and `retrieval.errors`.
"""
