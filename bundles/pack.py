"""Files to one zip and back. Stored, sorted, fixed times and modes: identical files give identical bytes on any machine
(deflate would not: its bytes differ between zlib builds)."""

import hashlib
import lzma
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from bundles.errors import BundleError, DamagedBundle

EPOCH = (1980, 1, 1, 0, 0, 0)
_UNREADABLE = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError)
MAX_FILES = 5_000
MAX_BYTES = 256 * 2**20


def write_zip(path: Path, files: Mapping[str, bytes]) -> str:
    """Write atomically; returns the archive's SHA-256. Scripts are executable, the rest is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(files):
                _check_name(name)
                info = zipfile.ZipInfo(name, EPOCH)
                info.create_system = 3
                info.external_attr = (0o100755 if name.endswith(".sh") else 0o100644) << 16
                archive.writestr(info, files[name])
        digest = hashlib.sha256(partial.read_bytes()).hexdigest()
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return digest


def read_zip(path: Path) -> dict[str, bytes]:
    """Every member, bounded. Raises: DamagedBundle, naming the member."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MAX_FILES or sum(m.file_size for m in members) > MAX_BYTES:
                raise DamagedBundle(path.name, "holds more than a bundle may")
            files: dict[str, bytes] = {}
            for member in members:
                _check_name(member.filename)
                if member.filename in files:
                    raise DamagedBundle(member.filename, "is there twice")
                try:
                    with archive.open(member) as source:  # never more than it says, however it was packed
                        files[member.filename] = source.read(member.file_size + 1)
                except _UNREADABLE as error:
                    raise DamagedBundle(member.filename, "does not match its checksum") from error
            return files
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise DamagedBundle(path.name, "is not a readable zip archive") from error


def _check_name(name: str) -> None:
    pure = PurePosixPath(name)
    if not name or name.startswith("/") or ".." in pure.parts or "\\" in name or "\0" in name or name.endswith("/"):
        raise DamagedBundle(name[:80], "is not a name that a bundle may hold")


def size_of(path: Path) -> int:
    """Bytes. Raises: BundleError when it is gone."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise BundleError(f"{path.name} is gone") from error
