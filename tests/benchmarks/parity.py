"""Whether a cluster gives the answers of the embedded store: `python -m tests.benchmarks.parity URL [CASE...]`.

Each case folder (the demo's where none is named) is triaged twice by `receipts triage --json`, without and with
`--store URL`. All that is told must be the same, but for how long it took and where the bundle lies; the bundles must
have the same digest.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot.demo.case_folder import build_case

MAIN = "from bot.cli import main; main()"
NOT_COMPARED = ("timings_ms", "bundle")


def triage(case: Path, out: Path, *options: str) -> tuple[dict[str, Any], str, float]:
    """The answer, the bundle's digest, seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "triage", str(case), "--json", "--out", str(out), *options],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"{case.name}: exit {done.returncode}: {done.stderr[-500:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    digest = hashlib.sha256(Path(answer["bundle"]).read_bytes()).hexdigest()
    return answer, digest, time.monotonic() - began


def differences(case: Path, url: str) -> tuple[list[str], str]:
    """The parts of the answer that are not the same, and a line about both runs."""
    with tempfile.TemporaryDirectory(prefix="receipts-parity-") as folder:
        here, mine, took = triage(case, Path(folder) / "embedded")
        there, theirs, took_there = triage(case, Path(folder) / "cluster", "--store", url)
    unlike = [k for k in here if k not in NOT_COMPARED and here[k] != there[k]]
    unlike += ["bundle's digest"] if mine != theirs else []
    return unlike, f"{here['verdict']:22} {mine[:12]} embedded {took:5.1f} s, cluster {took_there:5.1f} s"


def run(url: str, cases: Sequence[Path]) -> bool:
    alike = True
    for case in cases:
        unlike, told = differences(case, url)
        print(f"{case.name:12} {told}  {'NOT THE SAME: ' + ', '.join(unlike) if unlike else 'the same'}", flush=True)
        alike = alike and not unlike
    return alike


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("name a cluster: http://HOST:PORT [CASE...]", file=sys.stderr)
        return 2
    url, *cases = arguments
    if cases:
        return 0 if run(url, [Path(case) for case in cases]) else 1
    with tempfile.TemporaryDirectory(prefix="receipts-parity-") as folder:
        case = Path(folder) / "demo"
        asyncio.run(build_case(case, fresh=False, environ=os.environ))
        return 0 if run(url, [case]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
