"""Which lines ran: coverage.py's XML (Cobertura) and JSON, lcov, JaCoCo's XML, under `coverage/`.

Which test ran them is told by coverage.py's contexts (`--show-contexts`), by lcov's `TN:`, else by nobody: it is then
the coverage of the whole run. Lines that did not run are not kept.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

import msgspec

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.readers.dumps import head
from retrieval.model import FileCoverage, SourceRef

MAX_FILES = 50_000  # of one report, counted once for each test
_MAX_LINE = 10**7
_ENTITY = re.compile(r"<!ENTITY|<!DOCTYPE[^>]{0,500}\[")
_XMLNS = re.compile(r"\{.*\}")
UNREADABLE = "is no coverage that can be read; expected coverage.py's XML or JSON, lcov, or JaCoCo's XML"

Lines = dict[tuple[str, str], set[int]]  # (test, path) -> lines that ran


def read(file: SourceFile, intake: Intake) -> Iterator[FileCoverage]:
    text = head(file, intake)
    reads = _READS.get(text.lstrip()[:1], _lcov)
    found = reads(text)
    if isinstance(found, str):
        intake.problem(file.name, 0, found)
        return
    if len(found) > MAX_FILES:
        intake.problem(file.name, 0, f"{len(found) - MAX_FILES} entries beyond {MAX_FILES} were left out")
    for test, path in sorted(found)[:MAX_FILES]:
        if lines := found[test, path]:
            yield FileCoverage(path=path, test_id=test, lines=ranges(lines), source=SourceRef(file.name))
    if not any(found.values()):
        intake.problem(file.name, 0, "names no line that ran")


def ranges(lines: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Line numbers as (first, last) ranges."""
    found: list[tuple[int, int]] = []
    for line in sorted(lines):
        if found and line == found[-1][1] + 1:
            found[-1] = (found[-1][0], line)
        else:
            found.append((line, line))
    return tuple(found)


def _xml(text: str) -> Lines | str:
    if _ENTITY.search(text[:10_000]):
        return "declares entities, which coverage has no use for; not read"
    try:
        root = fromstring(text)
    except ParseError as error:
        return f"is broken XML in line {error.position[0]}; nothing of the file was read"
    kind = _XMLNS.sub("", root.tag)
    if kind == "coverage":
        return _cobertura(root)
    return _jacoco(root) if kind == "report" else UNREADABLE


def _cobertura(root: Element) -> Lines:
    found: Lines = defaultdict(set)
    for owner in root.iter("class"):
        path = owner.get("filename", "").replace("\\", "/")
        for line in owner.iter("line"):
            number, hits = _number(line.get("number")), _number(line.get("hits"))
            if path and number and hits:
                found["", path].add(number)
    return found


def _jacoco(root: Element) -> Lines:
    """A source file is named below its package, without the folder that the package lies in."""
    found: Lines = defaultdict(set)
    for package in root.iter("package"):
        for source in package.iter("sourcefile"):
            path = "/".join(part for part in (package.get("name", ""), source.get("name", "")) if part)
            for line in source.iter("line"):
                number = _number(line.get("nr"))
                if path and number and _number(line.get("ci")):
                    found["", path].add(number)
    return found


def _json(text: str) -> Lines | str:
    try:
        told = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return UNREADABLE
    files = told.get("files") if isinstance(told, dict) else None
    if not isinstance(files, dict):
        return UNREADABLE
    found: Lines = defaultdict(set)
    for path, entry in files.items():
        if not isinstance(entry, dict):
            continue
        path = str(path).replace("\\", "/")
        contexts = entry.get("contexts")
        named = contexts if isinstance(contexts, dict) else {}
        for number, tests in named.items():
            for test in tests if isinstance(tests, list) else ():
                _add(found, (_test(str(test)), path), number)
        if not any(test for tests in named.values() if isinstance(tests, list) for test in tests):
            for number in entry.get("executed_lines") or ():
                _add(found, ("", path), number)
    return found


def _test(context: str) -> str:
    """pytest-cov's contexts end with the phase: `tests/test_a.py::test_b|run`."""
    return context.rpartition("|")[0] if context.endswith(("|run", "|setup", "|teardown")) else context


def _lcov(text: str) -> Lines | str:
    """geninfo's tracefile format (man 1 geninfo)."""
    if "SF:" not in text:
        return UNREADABLE
    found: Lines = defaultdict(set)
    test = path = ""
    for line in text.splitlines():
        field, _, value = line.partition(":")
        if field == "TN":
            test = value.strip()
        elif field == "SF":
            path = value.strip().replace("\\", "/")
        elif field == "DA" and path:
            number, _, hits = value.partition(",")
            if _number(hits.split(",")[0]):
                _add(found, (test, path), number)
        elif line.strip() == "end_of_record":
            path = ""
    return found


def _add(found: Lines, key: tuple[str, str], number: Any) -> None:
    if (line := _number(number)) and line < _MAX_LINE:
        found[key].add(line)


def _number(value: Any) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else 0


_READS: dict[str, Callable[[str], Lines | str]] = {"<": _xml, "{": _json}

READER = Reader(
    kind="coverage",
    part="coverage",
    patterns=("coverage/**/*.xml", "coverage/**/*.json", "coverage/**/*.info", "coverage/**/*.lcov"),
    read=read,
)
