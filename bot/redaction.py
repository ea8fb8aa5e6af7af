"""The server's own redactor: its key lies in the data folder, so that a value has one pseudonym across restarts."""

import os
import secrets
from pathlib import Path

from retrieval.errors import BadInput
from retrieval.ingest.redaction import KeyedRedactor

KEY_FILE = "redaction.key"
_KEY_BYTES = 32


def load_redactor(data: Path) -> KeyedRedactor:
    """The redactor of a data folder; its key is made on first use, readable by the owner only.

    Raises: BadInput when the key cannot be read or is damaged.
    """
    path = data / KEY_FILE
    try:
        data.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise BadInput(f"{path}: cannot be used ({error.strerror})", subject=str(path)) from error
    except ValueError as error:
        raise BadInput(
            f"{path}: is no key", subject=str(path), remedy="restore it, or delete it for a new one"
        ) from error
    if len(key) < _KEY_BYTES:
        raise BadInput(f"{path}: is too short", subject=str(path), remedy="restore it, or delete it for a new one")
    return KeyedRedactor(key, "data-1")


def _make(path: Path) -> None:
    """Written aside and moved into place, so that a crash leaves no half key."""
    aside = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_hex(_KEY_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
