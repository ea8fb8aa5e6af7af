"""Contracts between services and with databases: read, compared, and joined to what changed them.

A format is a file in `formats/` and a line in `CONTRACT_FORMATS`; the contract suite in
`tests/contract/test_contract_formats.py` runs over every registered one. Reading is pure, linear and bounded; no
reference is ever followed out of the file.
"""

from retrieval.contracts.difference import differences
from retrieval.contracts.formats import CONTRACT_FORMATS, format_of
from retrieval.contracts.reading import Unreadable, read_contract

__all__ = ["CONTRACT_FORMATS", "Unreadable", "differences", "format_of", "read_contract"]
