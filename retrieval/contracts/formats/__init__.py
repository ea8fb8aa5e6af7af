"""The registry of contract formats; the first that claims a file reads it."""

from pathlib import PurePosixPath

from retrieval.contracts.base import Format
from retrieval.contracts.formats import graphql, jsonschema, openapi, protobuf, python_migrations, sql

HEAD = 4_000  # characters that a format may look at to know its own

_ALL = (openapi.FORMAT, protobuf.FORMAT, graphql.FORMAT, jsonschema.FORMAT, sql.FORMAT, python_migrations.FORMAT)
CONTRACT_FORMATS: dict[str, Format] = {f.name: f for f in _ALL}


def format_of(path: PurePosixPath, text: str) -> Format | None:
    """The format of a file by its name and how it begins; None where it is no contract."""
    head = text[:HEAD]
    return next((f for f in CONTRACT_FORMATS.values() if f.claims(path, head)), None)
