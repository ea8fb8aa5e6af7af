"""One JSON object a line, from files that may be damaged anywhere."""

import json
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from retrieval.ingest.intake import Intake, SourceFile

MAX_LINE = 32 * 1024 * 1024  # bytes; an OTLP export of one line is rarely more than 4 MiB
MAX_DOCUMENT = 64 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class NotJson(Exception):
    """A line that no reader can use; the text says why."""


def lines(file: SourceFile, intake: Intake) -> Iterator[tuple[int, bytes]]:
    """(1-based number, bytes without the line end) of lines that hold something; lines over `MAX_LINE` are reported."""
    try:
        with file.path.open("rb") as stream:
            yield from _lines(stream, file.name, intake)
    except OSError as error:
        intake.problem(file.name, 0, f"can't be read ({error.strerror or type(error).__name__}); check its permissions")


def _lines(stream: IO[bytes], name: str, intake: Intake) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            intake.problem(name, number, f"the line is longer than {MAX_LINE} bytes and was skipped")
            continue
        if number == 1:
            line = line.removeprefix(_BOM)
        yield number, line.rstrip(b"\r\n")


def objects(file: SourceFile, intake: Intake) -> Iterator[tuple[int, dict[str, Any]]]:
    """(1-based line, object); what is no JSON object is reported and skipped, empty lines are passed over.

    A `.json` file may also be one document over many lines, an object or a list of them: their line is 0.
    """
    document = _document(file) if file.path.suffix == ".json" else None
    if document is not None:
        yield from ((0, item) for item in document)
        return
    for number, line in lines(file, intake):
        if not line.strip():
            continue
        try:
            value = decode(line)
        except NotJson as error:
            intake.problem(file.name, number, str(error))
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            intake.problem(file.name, number, f"expected a JSON object, found {type(value).__name__}")


def _document(file: SourceFile) -> list[dict[str, Any]] | None:
    """The objects of a file that is one JSON document; None where it is not, or is too large to be read whole."""
    try:
        with file.path.open("rb") as stream:
            data = stream.read(MAX_DOCUMENT + 1)
    except OSError:
        return None
    if len(data) > MAX_DOCUMENT or b"\n" not in data.strip():
        return None
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    items = found if isinstance(found, list) else [found]
    return items if all(isinstance(item, dict) for item in items) else None


def decode(data: bytes) -> Any:
    """msgspec first; what it is too strict for (NaN, lone surrogates, stray bytes) is read by the standard library, and
    lone surrogates become U+FFFD.

    Raises: NotJson.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _lenient(data)


def _lenient(data: bytes) -> Any:
    try:
        return _no_surrogates(json.loads(data.decode("utf-8", "replace")))
    except json.JSONDecodeError as error:
        raise NotJson(f"is no JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise NotJson("is no JSON that can be read: it is nested too deeply or a number is too long") from error


def _no_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_no_surrogates(k): _no_surrogates(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_no_surrogates(v) for v in value]
    return value
