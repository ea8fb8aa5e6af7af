"""Builds case folders and reads them, for the tests of this room."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.readers.base import Reader
from retrieval.model import Problem

CAPTURED = Path(__file__).resolve().parents[2] / "captured"
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/usr/local/lib/python3.11/site-packages/flask/app.py", line 865, in dispatch_request\n'
    "    return view(**arguments)\n"
    '  File "/app/shop/cart.py", line 17, in add\n'
    "    raise NoStock(sku)\n"
    "shop.cart.NoStock: no stock of A-7"
)


def write(folder: Path, name: str, *lines: Any) -> Path:
    """A file of lines: text as it is, everything else as JSON."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines))
    return path


def run(reader: Reader, path: Path, reference_ns: int = 0) -> tuple[list[Any], tuple[Problem, ...]]:
    """All records of one file, and what was reported."""
    intake = Intake(reference_ns)
    records = list(reader.read(SourceFile(path, path.name), intake))
    return records, intake.problems()


def reasons(problems: Iterable[Problem]) -> list[str]:
    return [f"{p.source}: {p.reason}" for p in problems]
