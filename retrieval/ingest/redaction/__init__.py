"""Takes secrets and personal data out of what is read, before anything else sees it (row A5).

`rules.py` says what is looked for, `keys.py` which field names matter, `pseudonyms.py` what takes a value's place,
`redactor.py` applies them to text, `records.py` to every string of every record.
"""

from retrieval.ingest.redaction.records import redact
from retrieval.ingest.redaction.redactor import KeyedRedactor, throwaway_redactor

__all__ = ["KeyedRedactor", "redact", "throwaway_redactor"]
