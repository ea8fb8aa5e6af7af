"""A service in a few files, a failure as its recorders would write it, and generated tests that are really run."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bundles.harness import HARNESSES, Candidate, Candidates
from bundles.harness.python.source import Source, index_source, read_source
from retrieval.model import (
    Case,
    CaseSources,
    ConfigChange,
    CrashGroup,
    ErrorSignature,
    ExceptionInfo,
    FlagChange,
    Frame,
    LogRecord,
    Series,
    ServiceInfo,
    SourceRef,
    Span,
    StackTrace,
)

NOW = 1_700_000_000_000_000_000
TRACE = "a" * 32


class Scene:
    """Files in `tree`; records are added by the methods, times are relative to the failure in milliseconds."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.files: dict[str, str] = {}
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []
        self.config: list[ConfigChange] = []
        self.flags: list[FlagChange] = []
        self.series: list[Series] = []
        self.prefix = ""
        self._crashes: list[LogRecord] = []

    def write(self, path: str, text: str) -> None:
        self.files[path] = text
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_text(text)

    def frame(self, path: str, function: str, code: str, variables: dict[str, Any] | None = None) -> Frame:
        """The frame of the line that holds `code`, as an image prints its path."""
        line = next(at for at, text in enumerate(self.files[path].split("\n"), 1) if code in text)
        return Frame(file=f"/app/{path}", function=function, line=line, locals=variables or {})

    def fails(
        self,
        error: str,
        message: str,
        frames: Sequence[Frame] = (),
        *,
        body: str = "unhandled",
        attributes: dict[str, Any] | None = None,
        trace_id: str = TRACE,
        resource: dict[str, Any] | None = None,
        at_ms: int = 0,
    ) -> None:
        """The log record of the failure."""
        trace = StackTrace(language="python", type=error, message=message, frames=tuple(frames))
        record = LogRecord(
            time_ns=NOW + at_ms * 1_000_000,
            body=body,
            service="shop",
            severity=17,
            trace_id=trace_id,
            attributes=attributes or {},
            resource=resource or {},
            exception=ExceptionInfo(type=error, message=message, trace=trace if frames else None),
            source=SourceRef("logs/shop.jsonl", 7 + len(self._crashes)),
        )
        self.logs.append(record)
        self._crashes.append(record)

    def log(
        self, body: str, *, trace_id: str = TRACE, service: str = "shop", at_ms: int = -1, **attributes: Any
    ) -> None:
        source = SourceRef("logs/shop.jsonl", 100 + len(self.logs))
        self.logs.append(
            LogRecord(
                time_ns=NOW + at_ms * 1_000_000,
                body=body,
                service=service,
                trace_id=trace_id,
                attributes=attributes,
                source=source,
            )
        )

    def span(
        self,
        attributes: dict[str, Any],
        *,
        kind: str = "server",
        service: str = "shop",
        span_id: str = "server",
        parent: str = "",
        trace_id: str = TRACE,
        at_ms: int = -5,
        status: str = "unset",
    ) -> None:
        self.spans.append(
            Span(
                trace_id=trace_id,
                span_id=span_id,
                parent_span_id=parent,
                name="span",
                service=service,
                start_ns=NOW + at_ms * 1_000_000,
                end_ns=NOW + (at_ms + 10) * 1_000_000,
                kind=kind,
                status=status,
                attributes=attributes,
                source=SourceRef("traces/t.jsonl", 1 + len(self.spans)),
            )
        )

    def setting(self, key: str, value: str, at_ms: int = -1000) -> None:
        source = SourceRef("config.jsonl", 1 + len(self.config))
        self.config.append(
            ConfigChange(at_ns=NOW + at_ms * 1_000_000, service="shop", key=key, value=value, source=source)
        )

    def flag(self, name: str, value: Any, at_ms: int = -1000) -> None:
        source = SourceRef("flags.jsonl", 1 + len(self.flags))
        self.flags.append(
            FlagChange(at_ns=NOW + at_ms * 1_000_000, flag=name, value=value, service="shop", source=source)
        )

    def measured(self, metric: str, labels: dict[str, str], value: float) -> None:
        source = SourceRef("metrics/m.jsonl", 1 + len(self.series))
        self.series.append(Series(metric=metric, labels=labels, points=((NOW - 60_000_000_000, value),), source=source))

    @property
    def case(self) -> Case:
        info = ServiceInfo(name="shop", repo="shop", path_prefix=self.prefix, language="python")
        sources = CaseSources(
            spans=tuple(self.spans),
            logs=tuple(self.logs),
            config=tuple(self.config),
            flags=tuple(self.flags),
            series=tuple(self.series),
            services={"shop": info},
        )
        return Case(incident_id="INC-1", alerts=(), sources=sources)

    @property
    def crash(self) -> CrashGroup:
        first = self._crashes[0].exception
        assert first is not None
        return CrashGroup(
            key="k",
            service="shop",
            signature=ErrorSignature(first.type, first.message),
            count=len(self._crashes),
            logs=tuple(self._crashes),
        )

    def source(self) -> Source:
        return read_source(self.tree)

    def candidates(self) -> Candidates:
        return asyncio.run(HARNESSES["python"].candidates(self.case, self.crash, self.tree))

    def run(self, candidate: Candidate, **changes: str) -> tuple[int, str]:
        """Exit code and output of a candidate in a copy of the tree; `changes` replace text in files by suffix."""
        folder = self.tree.parent / "checkout"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.tree, folder)
        for path, text in candidate.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        for old, new in changes.items():
            for file in folder.rglob("*.py"):
                if "receipts_repro" not in file.parts:
                    file.write_text(file.read_text().replace(old, new))
        command = [sys.executable, *candidate.command[1:]]
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # it needs none; starts in half the time
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def reproduces(self, candidate: Candidate) -> None:
        """The test fails, and shows production's error with type and message."""
        code, output = self.run(candidate)
        error = self.crash.signature
        assert code == 1, output
        assert f"{error.type.rsplit('.', 1)[-1]}" in output
        assert error.message in output


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    tree = tmp_path / "repo"
    tree.mkdir()
    return Scene(tree)


@pytest.fixture
def source_of() -> Callable[..., Source]:
    """A repository from texts by path."""
    import ast

    def make(more: dict[str, str] | None = None, **files: str) -> Source:
        paths = {name.replace("__", "/") + ".py": text for name, text in files.items()} | (more or {})
        parsed = {path: ast.parse(text) for path, text in paths.items() if path.endswith(".py")}
        texts = tuple(text for path, text in paths.items() if path not in parsed)
        return index_source(parsed, tuple(sorted(paths)), texts)

    return make
