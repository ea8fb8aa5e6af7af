"""What a run may do and what comes back of it. Everything here really runs."""

import asyncio
import os
from pathlib import Path

import pytest

from bundles.sandbox import Limits, Sandbox, SandboxSettings, ToolMissing, probe
from bundles.sandbox.command import room_for
from bundles.sandbox.limits import MIB
from bundles.sandbox.watch import tasks_of

pytestmark = pytest.mark.sandbox


async def test_the_sandbox_holds_on_this_machine(sandbox: Sandbox) -> None:
    status = await probe(sandbox)
    assert status.holds, status.reason
    assert status.version and status.python


async def test_the_probe_runs_once(sandbox: Sandbox) -> None:
    assert await probe(sandbox) is await probe(sandbox)


async def test_nothing_holds_when_it_is_switched_off(cache: Path) -> None:
    status = await probe(Sandbox(SandboxSettings(cache=cache, enabled=False), {}))
    assert not status.holds and "switched off" in status.reason


async def test_root_is_refused_as_the_user_of_runs(cache: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root drops its user")
    status = await probe(Sandbox(SandboxSettings(cache=cache, user="root"), {}))
    assert not status.holds and "root" in status.reason


async def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status = await probe(Sandbox(SandboxSettings(cache=tmp_path / "file" / "cache"), {}))
    assert not status.holds and "RECEIPTS_CACHE" in status.reason


async def test_output_exit_code_and_reports_come_back(sandbox: Sandbox, tree: Path) -> None:
    code = "import os, sys; print('said'); open('/report/a.json', 'w').write('{}'); os.mkdir('/report/d'); sys.exit(3)"
    result = await sandbox.run(["python", "-c", code], tree=tree)
    assert (result.exit_code, result.output, result.files) == (3, "said\n", {"a.json": b"{}"})
    assert not result.limit


async def test_the_tree_can_be_written_and_stays_as_it_was(sandbox: Sandbox, tree: Path) -> None:
    code = "open('file', 'w').write('changed'); open('new', 'w'); print(open('file').read())"
    result = await sandbox.run(["python", "-c", code], tree=tree)
    assert result.output == "changed\n"
    assert (tree / "file").read_text() == "as it was" and not (tree / "new").exists()


async def test_a_large_tree_is_not_copied_and_stays_as_it_was(
    sandbox: Sandbox, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (await sandbox.equipment()).programs.has_overlay:
        pytest.skip("this bwrap has no overlay")
    monkeypatch.setattr("bundles.sandbox.run._COPY_BELOW", 0)
    code = "open('new', 'w').write('x'); print(open('file').read(), open('/proc/mounts').read().count('overlay /repo'))"
    result = await sandbox.run(["python", "-c", code], tree=tree)
    assert result.output == "as it was 1\n" and not (tree / "new").exists()


async def test_mounts_are_read_only_and_the_environment_is_fixed(sandbox: Sandbox, tree: Path, cache: Path) -> None:
    mounted = cache / "mounted"
    mounted.mkdir(exist_ok=True)
    (mounted / "value").write_text("42")
    code = (
        "from os import environ\nwanted = [environ[name] for name in ('WISH', 'HOME', 'TZ')]\n"
        "print(open('/opt/mounted/value').read(), *wanted)\n"
        "print('USER' in environ, environ['PATH'], environ.get('LD_PRELOAD'))\n"
        "try: open('/opt/mounted/value', 'w')\nexcept OSError as error: print(error.strerror)"
    )
    result = await sandbox.run(
        ["python", "-c", code],
        tree=tree,
        mounts={"/opt/mounted": mounted},
        environment={"WISH": "granted", "HOME": "/elsewhere", "PATH": "/evil", "LD_PRELOAD": "evil.so"},
    )
    lines = result.output.splitlines()
    assert lines[0] == "42 granted /tmp UTC"
    assert lines[1].startswith("False /opt/bin:") and lines[1].endswith("None")
    assert lines[2] == "Read-only file system"


async def test_what_is_installed_on_the_machine_is_not_seen(sandbox: Sandbox, tree: Path) -> None:
    result = await sandbox.run(["python", "-c", "import pytest"], tree=tree)
    assert "ModuleNotFoundError" in result.output


async def test_a_run_that_never_ends_is_ended_with_all_its_children(sandbox: Sandbox, tree: Path) -> None:
    marker = f"31415{os.getpid()}"
    result = await sandbox.run(
        ["sh", "-c", f"setsid sleep {marker} & sleep {marker}"], tree=tree, limits=Limits(wall_s=0.5)
    )
    assert result.timed_out and result.limit == "wall" and result.exit_code == 137
    commands = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if _readable(p)]
    assert not any(marker.encode() in command for command in commands)


def _readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


async def test_a_busy_run_is_ended_by_its_processor_time(sandbox: Sandbox, tree: Path) -> None:
    result = await sandbox.run(["python", "-c", "while True: pass"], tree=tree, limits=Limits(cpu_s=1))
    assert result.limit == "cpu"


async def test_memory_is_bounded_over_all_processes(sandbox: Sandbox, tree: Path) -> None:
    code = (
        "import os, signal\nfor _ in range(4):\n    if os.fork() == 0:\n        kept = bytearray(60 << 20)\n"
        "        signal.pause()\nsignal.pause()"
    )
    result = await sandbox.run(["python", "-c", code], tree=tree, limits=Limits(memory=150 * MIB, wall_s=30))
    assert result.limit == "memory"


async def test_a_tree_that_is_too_large_says_so(sandbox: Sandbox, tree: Path) -> None:
    (tree / "big").write_bytes(b"x" * 3 * MIB)
    result = await sandbox.run(["true"], tree=tree, limits=Limits(tree=1 * MIB))
    assert result.limit == "tree"


async def test_endless_output_is_cut_in_its_middle(sandbox: Sandbox, tree: Path) -> None:
    code = "print('first'); [print('x' * 100) for _ in range(20000)]; print('last')"
    result = await sandbox.run(["python", "-c", code], tree=tree, limits=Limits(output=10_000))
    assert len(result.output) < 11_000
    assert result.output.startswith("first") and result.output.endswith("last\n") and "bytes left out" in result.output


async def test_reports_that_are_no_small_files_are_left_out(sandbox: Sandbox, tree: Path) -> None:
    code = (
        "import os\nos.symlink('/etc/passwd', '/report/link'); os.mkfifo('/report/pipe')\n"
        "open('/report/large', 'wb').write(b'x' * (2 << 20)); open('/report/good', 'w').write('ok')"
    )
    result = await sandbox.run(["python", "-c", code], tree=tree)
    assert result.files == {"good": b"ok"}


async def test_two_runs_at_once_do_not_see_each_other(sandbox: Sandbox, tree: Path) -> None:
    code = (
        "import os; open('/tmp/mark', 'x'); open('mark', 'x')\n"
        "print(len([name for name in os.listdir('/proc') if name.isdigit()]))"
    )
    results = await asyncio.gather(*(sandbox.run(["python", "-c", code], tree=tree) for _ in range(2)))
    assert [r.exit_code for r in results] == [0, 0] and results[0].output == results[1].output


async def test_a_cancelled_run_leaves_no_process(sandbox: Sandbox, tree: Path, cache: Path) -> None:
    """It says that it runs through a pipe in a mounted folder; then it is cancelled."""
    marker = f"27182{os.getpid()}"
    bell = cache / "bell"
    bell.mkdir(exist_ok=True)
    os.mkfifo(bell / marker)
    (bell / marker).chmod(0o666)
    code = f"open('/opt/bell/{marker}', 'w').close(); import time; time.sleep({marker})"
    task = asyncio.create_task(sandbox.run(["python", "-c", code], tree=tree, mounts={"/opt/bell": bell}))
    await asyncio.to_thread((bell / marker).read_bytes)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(marker.encode() in p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if _readable(p))


async def test_what_else_the_user_runs_takes_no_room_from_a_run(cache: Path, tree: Path) -> None:
    """A person's desktop runs hundreds of processes and threads under the user that starts the program."""
    root = os.geteuid() == 0
    user = 1_879_099_123 if root else os.geteuid()
    limits = Limits(processes=20)
    forks = "import os\nn = 0\nwhile True:\n  if os.fork() == 0: os.read(0, 1); import time; time.sleep(9)\n  n += 1"
    become = {"user": user} if root else {}
    others = [await asyncio.create_subprocess_exec("sleep", "60", **become) for _ in range(40)]
    try:
        sandbox = Sandbox(SandboxSettings(cache=cache, user=str(user) if root else ""), {})
        assert tasks_of(user) >= 40
        assert (await sandbox.run(["python", "-c", "print(1)"], tree=tree, limits=limits)).output == "1\n"
        bomb = await sandbox.run(["python", "-c", forks], tree=tree, limits=limits)
        assert "BlockingIOError" in bomb.output
    finally:
        for process in others:
            process.kill()
            await process.wait()


def test_room_is_counted_as_the_kernel_counts_it() -> None:
    limits = Limits(processes=128)
    new = room_for(limits, others=1000, hard=-1, release="6.1.0-18-amd64")
    assert new.inside == 128 and new.outside > 1128
    old = room_for(limits, others=1000, hard=-1, release="5.4.0-200-generic")
    assert old.inside == old.outside > 1128
    assert room_for(limits, others=1000, hard=1100, release="6.1").outside == 1100


async def test_a_run_that_is_cancelled_at_once_leaves_no_process(sandbox: Sandbox, tree: Path) -> None:
    """At any moment of bwrap's own start, too."""
    await sandbox.equipment()
    marker = f"31415{os.getpid()}"
    for step in range(40):
        task = asyncio.create_task(sandbox.run(["sleep", marker], tree=tree))
        await asyncio.sleep(0.002 * step)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not any(marker.encode() in p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if _readable(p))


async def test_a_workspace_is_readable_and_goes_away(sandbox: Sandbox) -> None:
    async with sandbox.workspace() as folder:
        assert folder.stat().st_mode & 0o777 == 0o755
    assert not folder.exists()


async def test_a_cache_that_the_dropped_user_cannot_read_is_named(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root drops its user")
    tmp_path.chmod(0o700)
    status = await probe(Sandbox(SandboxSettings(cache=tmp_path / "cache"), {}))
    assert not status.holds and "RECEIPTS_CACHE" in status.reason


async def test_an_unknown_user_is_named(cache: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root drops its user")
    with pytest.raises(ToolMissing, match="nobody-has-this-name"):
        await Sandbox(SandboxSettings(cache=cache, user="nobody-has-this-name"), {}).equipment()
