"""The reference incident as a case folder: the repository built, the paperwork copied, the telemetry unpacked or
recorded anew.

`recording.tar.xz` holds what `record` writes (traces, logs, metrics, junit); `shop/case` what people and their deploy
system would have written down.
"""

import asyncio
import lzma
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

from bot.demo.repository import NAME, build_repository
from bundles.trees import unpack_tree

RECORDING = "recording.tar.xz"
RECORDED = ("traces", "logs", "metrics", "junit")


async def build_case(destination: Path, *, fresh: bool, environ: Mapping[str, str]) -> None:
    """Fill an absent or empty folder; `fresh` starts the shop and records it, else the shipped recording is taken.

    Raises: BadInput, RepositoryError.
    """
    await asyncio.to_thread(_paperwork, destination)
    await build_repository(destination / "repos" / NAME)
    if not fresh:
        await asyncio.to_thread(_unpack, destination)
        return
    from bot.demo.record.run import Places, record  # loaded late: most demos do not record

    with tempfile.TemporaryDirectory(prefix="receipts-shop-") as work:
        await record(Places(case=destination, work=Path(work).resolve()), environ)


def _paperwork(destination: Path) -> None:
    with as_file(files("bot.demo") / "shop" / "case") as folder:
        shutil.copytree(folder, destination, dirs_exist_ok=True)


def _unpack(destination: Path) -> None:
    packed = (files("bot.demo") / RECORDING).read_bytes()
    unpack_tree(RECORDING, lzma.decompress(packed), destination)


def pack_recording(case: Path, archive: Path) -> None:
    """Write what was recorded in a case folder as the recording to ship, the same bytes for the same files."""
    with tarfile.open(archive, "w:xz", preset=9) as made:
        for path in sorted(p for part in RECORDED for p in (case / part).rglob("*") if p.is_file()):
            entry = tarfile.TarInfo(path.relative_to(case).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as content:
                made.addfile(entry, content)
