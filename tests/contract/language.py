"""What every language promises, over what real runtimes printed.

A language brings `tests/captured/stack-traces/NAME/*.txt`, each with its reading as `.json` beside it, and
`tests/captured/sources/NAME/*` likewise. A reading holds what differs from the defaults.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.languages import MAX_SOURCE_BYTES, Language
from retrieval.model import StackTrace, Symbol

CAPTURED = Path(__file__).resolve().parents[1] / "captured"
TRACES = CAPTURED / "stack-traces"
SOURCES = CAPTURED / "sources"
PREFIXES = ("web-1  | ", "2026-11-30T22:50:45.435123Z stdout F ", "[pod/shop-7d9 shop] ")


def traces_of(name: str) -> list[Path]:
    return sorted((TRACES / name).glob("*.txt"))


def sources_of(language: Language) -> list[Path]:
    return sorted(p for p in (SOURCES / language.name).iterdir() if p.suffix in language.extensions)


def reading(record: StackTrace | Symbol) -> dict[str, Any]:
    """A record without what is at its default, `code` and `doc` included only by the symbol readings."""
    defaults = {f.name: f.default for f in msgspec.structs.fields(type(record))}
    found: dict[str, Any] = json.loads(msgspec.json.encode(record))
    if isinstance(record, StackTrace):
        found["frames"] = [
            f"{f.file}:{f.line} {f.module}|{f.function}{'' if f.in_app else ' (lib)'}" for f in record.frames
        ]
        found["cause"] = reading(record.cause) if record.cause else None
        found["members"] = [reading(m) for m in record.members]
    return {k: v for k, v in found.items() if v not in (defaults.get(k), [], (), "", None)}


def every(traces: list[StackTrace]) -> list[StackTrace]:
    """Traces with their causes and members."""
    return [t for top in traces for t in (top, *every([*([top.cause] if top.cause else []), *top.members]))]


class LanguageContract:
    """Subclass with `language` set; see `tests/retrieval/languages/test_languages.py`."""

    language: Language

    def test_it_brings_traces_and_sources(self) -> None:
        assert len(traces_of(self.language.name)) >= 5
        assert sources_of(self.language)

    def test_real_traces_read_as_expected(self) -> None:
        for path in traces_of(self.language.name):
            expected = json.loads(path.with_suffix(".json").read_text())
            assert [reading(t) for t in self.language.parse(path.read_text())] == expected, path.name

    def test_traces_of_other_runtimes_are_left_alone(self) -> None:
        for folder in TRACES.iterdir():
            if folder.name != self.language.name:
                for path in sorted(folder.glob("*.txt")):
                    assert self.language.parse(path.read_text()) == [], path.name

    def test_frames_say_whether_they_are_the_applications_own(self) -> None:
        for path in traces_of(self.language.name):
            for trace in every(self.language.parse(path.read_text())):
                assert trace.language == self.language.name
                for frame in trace.frames:
                    assert frame.in_app == self.language.in_app(frame.file, frame.function, frame.module), frame

    def test_a_prefix_before_each_line_changes_nothing(self) -> None:
        for path in traces_of(self.language.name):
            text = path.read_text()
            plain = [reading(t) for t in self.language.parse(text)]
            for prefix in PREFIXES:
                marked = "\n".join(prefix + line for line in text.splitlines())
                assert [reading(t) for t in self.language.parse(marked)] == plain, (path.name, prefix)

    def test_windows_line_ends_change_nothing(self) -> None:
        for path in traces_of(self.language.name):
            text = path.read_text()
            assert self.language.parse(text.replace("\n", "\r\n")) == self.language.parse(text), path.name

    def test_a_trace_that_was_cut_off_gives_what_is_there(self) -> None:
        for path in traces_of(self.language.name):
            lines = path.read_text().splitlines()
            for cut in range(len(lines)):
                text = "\n".join(lines[:cut])
                for frame in (f for t in every(self.language.parse(text)) for f in t.frames):
                    named = [] if frame.function.startswith("<") else re.findall(r"\w+", frame.function)[-1:]
                    assert all(part in text for part in (frame.file, str(frame.line or ""), *named)), (path.name, cut)

    def test_symbols_read_as_expected(self) -> None:
        for path in sources_of(self.language):
            expected = json.loads(path.with_suffix(".json").read_text())
            name = f"shop/{path.name}"
            found = self.language.symbols(name, path.read_bytes())
            assert [reading(s) for s in found] == expected["symbols"], path.name
            assert self.language.imports(name, path.read_bytes()) == expected["imports"], path.name

    def test_a_file_that_is_too_large_is_left_out(self) -> None:
        source = sources_of(self.language)[0].read_bytes()
        assert self.language.symbols("a", source + b"\n" * MAX_SOURCE_BYTES) == []
        assert self.language.imports("a", source + b"\n" * MAX_SOURCE_BYTES) == []

    def test_broken_source_gives_its_good_parts(self) -> None:
        for path in sources_of(self.language):
            source = path.read_bytes()
            whole = self.language.symbols("a", source)
            for cut in range(0, len(source), max(len(source) // 40, 1)):
                ids = {s.symbol_id for s in self.language.symbols("a", source[:cut])}
                assert len(ids) <= len(whole)
            assert len(self.language.symbols("a", source + b"\n)]}{(\xff\x00")) >= len(whole) // 2

    def test_source_as_deep_as_it_is_long_is_survived(self) -> None:
        for deep in (b"(" * 50_000, b"{" * 50_000, b"f(" * 30_000, b"class A:\n" * 100, b"class A{" * 5_000):
            self.language.symbols("a", deep)
            self.language.imports("a", deep)

    def test_hostile_lines_take_no_longer_than_their_length(self) -> None:
        shapes = (*" \t'", "at ", "a.", "a::", "a\\", "a (", "#0 /a(1): ", "a:1:in `", " ---> A.B", "[A ", "Error: ")
        real = traces_of(self.language.name)[0].read_text()
        started = time.process_time()
        for shape in shapes:
            line = (shape * 50_000)[:50_000]
            self.language.parse(f"{real}\n{line}\n    {line}x\n{real}")
        assert time.process_time() - started < 10

    def test_garbled_traces_never_raise(self) -> None:
        lines = [line for path in traces_of(self.language.name) for line in path.read_text().splitlines()]

        @settings(max_examples=150, deadline=None, database=None, derandomize=True)
        @given(st.lists(st.one_of(st.sampled_from(lines), st.text(max_size=40)), max_size=40), st.randoms())
        def garbled(chosen: list[str], random: Any) -> None:
            text = list("\n".join(chosen))
            for _ in range(min(len(text), 5)):
                del text[random.randrange(len(text))]
            for trace in every(self.language.parse("".join(text))):
                assert trace.crash is None or trace.crash in trace.frames

        garbled()
