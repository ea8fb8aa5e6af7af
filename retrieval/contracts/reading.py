"""Bytes of a file to the elements of the contract that it holds. Pure."""

from pathlib import PurePosixPath

from retrieval.contracts.base import MAX_BYTES, MAX_ELEMENTS, Format, Unreadable
from retrieval.contracts.formats import format_of
from retrieval.model import ContractElement

__all__ = ["Unreadable", "read_contract"]


def read_contract(path: str, data: bytes) -> tuple[Format, tuple[ContractElement, ...]] | None:
    """The format and the elements; None where no format claims the file.

    Raises: Unreadable (too large, or not what it claims to be).
    """
    text = data[: MAX_BYTES + 1].decode("utf-8-sig", "replace")
    found = format_of(PurePosixPath(path), text)
    if found is None:
        return None
    if len(data) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES} bytes and was not read")
    if "\0" in text:
        raise Unreadable("holds binary data")
    return found, found.parse(text)[:MAX_ELEMENTS]
