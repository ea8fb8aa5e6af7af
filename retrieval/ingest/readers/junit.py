"""Test results: JUnit XML of pytest, Surefire, Gradle, Jest and their kin.

The format has no standard; what is read is what these writers agree on, plus Surefire's elements for reruns. Files are
read as a stream: a truncated one gives the cases before the cut.
"""

import re
from collections.abc import Iterator
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from retrieval.ingest import exceptions
from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.moments import time_ns
from retrieval.ingest.readers.base import Reader
from retrieval.model import SourceRef, TestResult

_CHUNK = 64 * 1024
# XML 1.0 forbids control characters, and writers print them all the same (ANSI colours in messages).
_FORBIDDEN = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#(?:x0*(?:[0-8bBcCeEfF]|1[0-9a-fA-F])|0*(?:[0-8]|1[124-9]|2\d|3[01]));"
)
_ANSI = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]|(?:&#x1[bB];|#x1B)\[[0-9;]*[A-Za-z]")
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
_REPEATS = ("rerunFailure", "rerunError", "flakyFailure", "flakyError")
_VERDICTS = ("failure", "error", "failed")  # words that writers put where a type or a message belongs
_TAIL = 64  # bytes kept back of a chunk without an element's end, so that no reference is cut in two


def read(file: SourceFile, intake: Intake) -> Iterator[TestResult]:
    parser: XMLPullParser[Any] = XMLPullParser(("start", "end"))
    suites: list[Element] = []
    count = 0
    try:
        for chunk in _chunks(file):
            parser.feed(chunk)
            for result in _results(parser, suites, file):
                count += 1
                yield result
        parser.close()
        for result in _results(parser, suites, file):
            count += 1
            yield result
    except ParseError as error:
        line = error.position[0]
        intake.problem(file.name, line, f"is broken XML here; the {count} test cases before it were read")
    except _Refused as error:
        intake.problem(file.name, 0, str(error))
    except OSError as error:
        intake.problem(file.name, 0, f"can't be read ({error.strerror or type(error).__name__}); check its permissions")


class _Refused(Exception):
    pass


def _chunks(file: SourceFile) -> Iterator[bytes]:
    held = b""
    with file.path.open("rb") as stream:
        while data := stream.read(_CHUNK):
            data = held + data
            if _DOCTYPE.search(data):
                raise _Refused("declares a document type or entities, which test results have no use for; not read")
            cut = data.rfind(b">") + 1 or max(0, len(data) - _TAIL)
            held = data[cut:]
            yield _clean(data[:cut])
        yield _clean(held)


def _clean(data: bytes) -> bytes:
    return _FORBIDDEN.sub(b"", _ANSI.sub(b"", data))


def _results(parser: "XMLPullParser[Any]", suites: list[Element], file: SourceFile) -> Iterator[TestResult]:
    for event, element in cast(Iterator[tuple[str, Element]], parser.read_events()):
        name = _name(element)
        if name == "testsuite":
            suites.append(element) if event == "start" else suites.pop()
        elif name == "testcase" and event == "end":
            yield _result(element, suites, file)
            element.clear()
            if suites:
                suites[-1][:] = [child for child in suites[-1] if child is not element]


def _result(case: Element, suites: list[Element], file: SourceFile) -> TestResult:
    suite = suites[-1] if suites else None
    suite_name = suite.get("name", "") if suite is not None else ""
    owner = case.get("classname") or case.get("class") or case.get("file") or suite_name
    outcome, told = _outcome(case)
    message, stack = _words(told)
    if told is not None and outcome != "skipped" and not (message or stack):
        message, stack = _words(_output(case))  # CTest leaves the failure empty and tells it here
    properties = {p.get("name", ""): p.get("value") or (p.text or "") for p in case.iter() if _name(p) == "property"}
    if repeats := [c for c in case if _name(c) in _REPEATS]:
        properties["repeats"] = str(len(repeats))
        properties["flaky"] = "true" if outcome == "passed" else "false"
        if told is None:
            message, stack = _words(repeats[0])
            told = repeats[0]
    started = (case.get("timestamp") or "") or next(
        (s.get("timestamp", "") for s in reversed(suites) if s.get("timestamp")), ""
    )
    type_name = _type(told, message)
    return TestResult(
        test_id=f"{owner}::{case.get('name', '')}" if owner else case.get("name", ""),
        outcome=outcome,
        suite=suite_name,
        seconds=_seconds(case.get("time", "")),
        message=message,
        exception=exceptions.of_text(stack, type_name, _bare(message, type_name))
        if told is not None and outcome != "skipped"
        else None,
        time_ns=time_ns(started),
        properties=properties,
        source=SourceRef(file.name),
    )


def _outcome(case: Element) -> tuple[str, Element | None]:
    for name, outcome in (("error", "error"), ("failure", "failed"), ("skipped", "skipped")):
        told = next((c for c in case if _name(c) == name), None)
        if told is not None:
            return outcome, told
    if (
        case.get("status", "").lower() in ("skipped", "disabled", "notrun")
        or case.get("result", "").lower() == "skipped"
    ):
        return "skipped", None
    return "passed", None


def _words(told: Element | None) -> tuple[str, str]:
    """The message and the text with the stack; Surefire puts the stack of a rerun into an element of its own."""
    if told is None:
        return "", ""
    stack = next((c.text for c in told if _name(c) == "stackTrace" and c.text), None) or told.text or ""
    message = told.get("message") or next((line.strip() for line in stack.splitlines() if line.strip()), "")
    return message, stack


def _output(case: Element) -> Element | None:
    printed = [c for c in case if _name(c) in ("system-out", "system-err") and (c.text or "").strip()]
    return printed[0] if printed else None


def _type(told: Element | None, message: str) -> str:
    """pytest gives no type but begins its message with one; `pytest.skip` and the like are no exceptions."""
    if told is None:
        return ""
    named = told.get("type", "")
    if named and not re.search(r"\s", named) and named.lower() not in _VERDICTS:
        return named
    begins = re.match(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?=:|$)", message)
    return begins.group(0) if begins and message.lower() not in _VERDICTS else ""


def _bare(message: str, type_name: str) -> str:
    return message.removeprefix(f"{type_name}:").strip() if type_name else message


def _seconds(value: str) -> float:
    """`1,234.5` is how some locales write 1234.5."""
    try:
        seconds = float(value.replace(",", "")) if value else 0.0
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e9 else 0.0


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


READER = Reader(kind="junit", part="tests", patterns=("junit/**/*.xml",), read=read)
