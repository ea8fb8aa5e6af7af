"""A tree in a bundle comes back as it was, and a hostile one leaves nothing outside its folder."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bundles.errors import DamagedBundle
from bundles.trees import pack_tree, unpack_tree


def packed(*members: tuple[str, Callable[[tarfile.TarInfo], None]], content: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, shape in members:
            info = tarfile.TarInfo(name)
            shape(info)
            archive.addfile(info, io.BytesIO(content) if info.isreg() and info.size else None)
    return buffer.getvalue()


def link(target: str, kind: bytes = tarfile.SYMTYPE) -> Callable[[tarfile.TarInfo], None]:
    def shape(info: tarfile.TarInfo) -> None:
        info.type, info.linkname = kind, target

    return shape


def plain(info: tarfile.TarInfo) -> None:
    info.size = 0


def device(info: tarfile.TarInfo) -> None:
    info.type = tarfile.FIFOTYPE


def test_a_tree_comes_back_with_its_modes_and_links(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "größe mit Leerzeichen").mkdir(parents=True)
    (tree / "größe mit Leerzeichen" / "a.py").write_bytes(b"x = 1\n")
    (tree / "run.sh").write_text("echo")
    (tree / "run.sh").chmod(0o755)
    (tree / "here").symlink_to("größe mit Leerzeichen/a.py")
    (tree / "loop").symlink_to("loop")
    content = pack_tree(tree)
    assert content is not None
    unpack_tree("t.tar", content, tmp_path / "again")
    assert (tmp_path / "again" / "here").read_bytes() == b"x = 1\n"
    assert (tmp_path / "again" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert pack_tree(tmp_path / "again") == content


@pytest.mark.parametrize(
    "members",
    [
        [("../out", plain)],
        [("/tmp/receipts-out", plain)],
        [("a/../../out", plain)],
        [("a", link("/etc"))],
        [("a", link("../out"))],
        [("d/x", link("..")), ("y", link("d/x/../out"))],
        [("y", link("d/x/..")), ("d/x", link(".."))],
        [("a", link(".")), ("a/b", link("c"))],
        [("a", plain), ("b", link("a", tarfile.LNKTYPE))],
        [("pipe", device)],
        [("a", plain), ("a", plain)],
        [("a", plain), ("a/b", plain)],
        [("a", plain), ("a", link("b"))],
    ],
)
def test_what_would_leave_or_hide_is_refused(members: list[tuple[str, Callable[..., None]]], tmp_path: Path) -> None:
    with pytest.raises(DamagedBundle, match="is not a source tree"):
        unpack_tree("t.tar", packed(*members), tmp_path / "room" / "tree")
    assert [p.name for p in tmp_path.iterdir()] == ["room"]
    assert [p.name for p in (tmp_path / "room").iterdir()] == ["tree"]


@pytest.mark.parametrize("content", [b"no archive", b"\0" * 100])
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(DamagedBundle):
        unpack_tree("t.tar", content, tmp_path / "tree")


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "big").write_bytes(b"x" * 5000)
    whole = pack_tree(tree)
    assert whole is not None
    with pytest.raises(DamagedBundle):
        unpack_tree("t.tar", whole[:2048], tmp_path / "again")
