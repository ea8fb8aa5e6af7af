"""What a git repository tells, whatever state it is in."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from retrieval.code import git as git_module
from retrieval.code.git import GitRepository, open_repository
from retrieval.code.process import run_git
from retrieval.errors import BadInput, Reason, RepositoryError


async def failure(awaitable: object) -> RepositoryError:
    with pytest.raises(RepositoryError) as caught:
        await awaitable  # type: ignore[misc]
    return caught.value


async def test_history_comes_newest_first_with_hunks(work) -> None:
    first = work.commit("Begin", **{"a.py": "one\ntwo\nthree\n"})
    second = work.commit("Change\n\nWhy it was done.", **{"a.py": "one\nTWO\nthree\nfour"})
    repo = await open_repository("shop", work.path)
    log = await repo.log(until=second)
    assert [c.sha for c in log] == [second, first]
    assert (log[0].subject, log[0].body, log[0].author, log[0].parents) == (
        "Change", "Why it was done.", "Zoë Ångström", (first,)
    )  # fmt: skip
    assert log[0].committed_ns == (1_700_000_000 + 120) * 10**9
    (change,) = log[0].files
    assert [(h.old_start, h.old_lines, h.new_start, h.new_lines, h.removed, h.added) for h in change.hunks] == [
        (2, 1, 2, 1, ("two",), ("TWO",)),
        (3, 0, 4, 1, (), ("four",)),
    ]
    assert log[1].files[0].status == "added"
    assert await repo.log(after=first, until=second) == log[:1]
    assert await repo.log(until=second, limit=1) == log[:1]


async def test_names_with_spaces_quotes_and_other_alphabets_are_exact(work) -> None:
    odd = [
        "sp ace.py",
        'quo"te.py',
        "tab\there.py",
        "naïve/Ünïcode.py",
        "日本/語.txt",
        "back\\slash.py",
        "line\nfeed.py",
    ]
    for path in odd:
        work.write(path, f"x = {path!r}\n")
    sha = work.commit("Odd names")
    repo = await open_repository("odd", work.path)
    (commit,) = await repo.log(until=sha)
    assert sorted(f.path for f in commit.files) == sorted(odd)
    assert all(f.hunks[0].added == (f"x = {f.path!r}",) for f in commit.files)
    assert sorted(await repo.files(sha)) == sorted(odd)
    for path in odd:
        assert await repo.read(sha, path) == f"x = {path!r}\n".encode()
    assert await repo.read_many(sha, [odd[0], odd[4], "absent"]) == {
        p: f"x = {p!r}\n".encode() for p in (odd[0], odd[4])
    }


async def test_renames_modes_binaries_and_type_changes_are_told_apart(work) -> None:
    work.commit("Begin", **{"old.py": "a\nb\nc\nd\ne\nf\n", "run.sh": "true\n", "gone.py": "x\n", "kind": "text\n"})
    work.git("mv", "old.py", "new name.py")
    work.write("new name.py", "a\nb\nc\nd\ne\nF\n")
    work.write("data.bin", b"\0\1\2")
    (work.path / "run.sh").chmod(0o755)
    (work.path / "gone.py").unlink()
    (work.path / "kind").unlink()
    (work.path / "kind").symlink_to("run.sh")
    commit = await (await open_repository("r", work.path)).commit(work.commit("Much at once"))
    found = {f.path: f for f in commit.files}
    assert (found["new name.py"].status, found["new name.py"].old_path) == ("renamed", "old.py")
    assert found["new name.py"].hunks[0].added == ("F",)
    assert found["data.bin"].binary and found["data.bin"].status == "added"
    assert (found["run.sh"].status, found["run.sh"].hunks) == ("modified", ())
    assert (found["gone.py"].status, found["gone.py"].hunks[0].removed) == ("deleted", ("x",))
    assert [h.added for h in found["kind"].hunks] == [(), ("run.sh",)]
    assert found["kind"].status == "typechange"


async def test_content_that_looks_like_a_patch_stays_content(work) -> None:
    hostile = (
        "@@ -1 +1 @@\ndiff --git a/x b/x\n\x01\n-- a/y\n++ b/y\n\\ No newline at end of file\nBinary files differ\n"
    )
    work.commit("Begin", **{"a.txt": "old\n", "z.txt": "old\n"})
    sha = work.commit("@@ -1 +1 @@\n\ndiff --git a/a b/b\n:100644", **{"a.txt": hostile, "z.txt": "new\n"})
    commit = await (await open_repository("r", work.path)).commit(sha)
    assert commit.subject == "@@ -1 +1 @@"
    assert [f.path for f in commit.files] == ["a.txt", "z.txt"]
    assert commit.files[0].hunks[0].added == tuple(hostile.split("\n")[:-1])
    assert commit.files[1].hunks[0].added == ("new",)


async def test_a_merge_lists_its_parents_and_no_files(work) -> None:
    base = work.commit("Begin", a="1\n")
    work.git("checkout", "-q", "-b", "side")
    side = work.commit("Side", b="2\n")
    work.git("checkout", "-q", "main")
    main = work.commit("Main", c="3\n")
    work.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    merge = work.git("rev-parse", "HEAD")
    repo = await open_repository("r", work.path)
    log = await repo.log(after=base, until=merge)
    assert (log[0].sha, log[0].parents, log[0].files) == (merge, (main, side), ())
    assert {c.sha for c in log} == {merge, side, main}
    assert await repo.is_ancestor(side, merge) and not await repo.is_ancestor(side, main)


async def test_commits_are_found_by_abbreviation_but_never_by_a_ref(work) -> None:
    sha = work.commit("Begin", a="1\n")
    work.git("tag", "-a", "-m", "release", "v1")
    repo = await open_repository("r", work.path)
    assert await repo.resolve(sha[:7].upper()) == sha
    assert await repo.resolve(work.git("rev-parse", "v1")) == sha  # an annotated tag's own name stands for its commit
    for bad in ("HEAD", "main", "v1", "--all", "-n1", f"{sha}^", "", "abc", sha + "0", "$(true)"):
        error = await failure(repo.resolve(bad))
        assert error.reason is Reason.NOT_FOUND and error.remedy
    assert (await failure(repo.resolve("0" * 40))).reason is Reason.NOT_FOUND
    assert (await failure(repo.resolve(work.git("rev-parse", "HEAD:a")[:10]))).reason is Reason.NOT_FOUND
    # A branch that is called like an abbreviation must not win over the commit.
    other = work.commit("Other", a="2\n")
    work.git("branch", sha[:8], other)
    assert await (await open_repository("r", work.path)).resolve(sha[:8]) == sha


async def test_an_ambiguous_abbreviation_is_refused(work, monkeypatch) -> None:
    first, second = work.commit("One", a="1\n"), work.commit("Two", a="2\n")

    async def both(path, arguments, **options):
        out = await run_git(path, arguments, **options)
        return f"{first}\n{second}\n".encode() if arguments[0] == "rev-parse" else out

    repo = await open_repository("r", work.path)
    monkeypatch.setattr(git_module, "run_git", both)
    assert "ambiguous" in str(await failure(repo.resolve("abcdef1")))


async def test_files_are_read_within_bounds(work) -> None:
    work.write("large.bin", b"x" * (4 * 1024 * 1024 + 1))
    work.write("dir/f.py", "f\n")
    (work.path / "link").symlink_to("dir/f.py")
    sha = work.commit("Begin")
    repo = await open_repository("r", work.path)
    assert await repo.read(sha, "dir/f.py") == b"f\n"
    assert await repo.read(sha, "link") == b"dir/f.py"
    assert (await failure(repo.read(sha, "large.bin"))).reason is Reason.TOO_LARGE
    for bad in ("absent.py", "dir", "../work/dir/f.py", "/etc/passwd", "", "a\0b"):
        assert (await failure(repo.read(sha, bad))).reason is Reason.NOT_FOUND
    assert "large.bin" not in await repo.read_many(sha, ["large.bin", "link"])


async def test_a_diff_takes_paths_literally(work) -> None:
    old = work.commit("Begin", **{"a*.py": "1\n", "ab.py": "1\n"})
    new = work.commit("Change", **{"a*.py": "2\n", "ab.py": "2\n"})
    repo = await open_repository("r", work.path)
    assert "ab.py" in await repo.diff(old, new)
    only = await repo.diff(old, new, ["a*.py"])
    assert "+2" in only and "ab.py" not in only


async def test_what_cannot_be_shown_in_bounds_costs_only_its_own_hunks(work, monkeypatch) -> None:
    work.commit("Begin", **{"a.py": "1\n"})
    work.commit("Vendor", **{"vendor.txt": "line of text\n" * 5_000})
    sha = work.commit("Small", **{"a.py": "2\n"})
    monkeypatch.setattr(git_module, "_LOG_LIMIT", 20_000)
    monkeypatch.setattr(git_module, "_DIFF_LIMIT", 20_000)
    small, vendor, begin = await (await open_repository("r", work.path)).log(until=sha)
    assert small.files[0].hunks[0].added == ("2",)
    assert (vendor.files[0].path, vendor.files[0].hunks) == ("vendor.txt", ())
    assert begin.files[0].hunks


async def test_bare_linked_and_shallow_clones_are_read(work, tmp_path: Path) -> None:
    shas = [work.commit(f"Step {n}", **{"a.py": f"{n}\n"}) for n in range(5)]
    work.git("clone", "-q", "--bare", str(work.path), str(tmp_path / "bare.git"))
    work.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), shas[1])
    for path in (tmp_path / "bare.git", tmp_path / "linked"):
        repo = await open_repository("r", path)
        assert [c.sha for c in await repo.log(after=shas[1], until=shas[4])] == shas[:1:-1]
        assert await repo.read(shas[2], "a.py") == b"2\n"


async def test_a_shallow_clone_says_where_its_knowledge_ends(work, tmp_path: Path) -> None:
    shas = [work.commit(f"Step {n}", **{"a.py": f"{n}\n", f"f{n}": "x\n"}) for n in range(5)]
    work.git("clone", "-q", "--depth", "3", f"file://{work.path}", str(tmp_path / "shallow"))
    repo = await open_repository("r", tmp_path / "shallow")
    assert [c.sha for c in await repo.log(after=shas[2], until=shas[4])] == [shas[4], shas[3]]
    log = await repo.log(until=shas[4])
    assert [c.sha for c in log] == shas[:1:-1]
    assert log[-1].files == () and (await repo.commit(shas[2])).files == ()  # its parent, so its diff, is unknown
    assert await repo.is_ancestor(shas[3], shas[4])
    for ask in (
        lambda: repo.log(after=shas[1], until=shas[4]),
        lambda: repo.resolve(shas[0]),
        lambda: repo.is_ancestor(shas[4], shas[3]),
    ):
        error = await failure(ask())
        assert error.reason is Reason.SHALLOW and "unshallow" in error.remedy


async def test_submodules_are_no_files(work, tmp_path: Path) -> None:
    inner = type(work)(tmp_path / "inner")
    pinned = inner.commit("Inner", x="1\n")
    work.commit("Begin", **{"a.py": "1\n"})
    work.git("submodule", "--quiet", "add", str(inner.path), "lib/inner")
    sha = work.commit("Add a submodule")
    repo = await open_repository("r", work.path)
    assert await repo.files(sha) == [".gitmodules", "a.py"]
    change = next(f for f in (await repo.commit(sha)).files if f.path == "lib/inner")
    assert change.hunks[0].added == (f"Subproject commit {pinned}",)
    await repo.checkout(sha, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [".gitmodules", "a.py"]


async def test_damage_is_an_error_with_a_remedy_and_no_traceback(work, tmp_path: Path) -> None:
    sha = work.commit("Begin", **{"a.py": "one\n"})
    last = work.commit("More", **{"a.py": "two\n"})
    blob = work.git("rev-parse", f"{sha}:a.py")
    damaged = work.path / ".git" / "objects" / blob[:2] / blob[2:]
    damaged.unlink()
    repo = await open_repository("r", work.path)
    for ask in (
        lambda: repo.read(sha, "a.py"),
        lambda: repo.log(until=last),
        lambda: repo.checkout(sha, tmp_path / "x"),
        lambda: repo.diff(sha, last),
    ):
        error = await failure(ask())
        assert error.reason is Reason.CORRUPT and error.remedy
    assert (await failure(repo.read_many(sha, ["a.py"]))).reason is Reason.CORRUPT
    (work.path / ".git" / "HEAD").write_text("nonsense\n")
    assert (await failure(open_repository("r", work.path))).reason is Reason.CORRUPT


async def test_no_repository_is_not_found_even_inside_of_another(work) -> None:
    work.commit("Begin", a="1\n")
    (work.path / "sub").mkdir()
    assert (await failure(open_repository("r", work.path / "sub"))).reason is Reason.NOT_FOUND
    assert (await failure(open_repository("r", work.path / "absent"))).reason is Reason.NOT_FOUND


async def test_a_checkout_is_clean_and_complete(work, tmp_path: Path) -> None:
    work.write(".gitattributes", "tests export-ignore\n*.py filter=evil\nversion export-subst\n")
    work.write("tests/test_a.py", "assert 1\n")
    work.write("version", "$Format:%H$\n")
    work.write("run.sh", "true\n")
    (work.path / "run.sh").chmod(0o755)
    (work.path / "inside").symlink_to("tests/test_a.py")
    (work.path / "outside").symlink_to("../../secret")
    (work.path / "absolute").symlink_to("/etc/passwd")
    (work.path / "tests/up").symlink_to("..")
    (work.path / "through").symlink_to("tests/up/../../secret")
    sha = work.commit("Begin")
    # A repository's own configuration may name a program for a filter; it must not run.
    work.git("config", "filter.evil.smudge", f"touch {tmp_path}/ran")
    repo = await open_repository("r", work.path)
    out = tmp_path / "out"
    await repo.checkout(sha, out)
    files = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file() or p.is_symlink())
    assert files == [".gitattributes", "inside", "run.sh", "tests/test_a.py", "tests/up", "version"]
    assert os.access(out / "run.sh", os.X_OK) and not os.access(out / "version", os.X_OK)
    assert (out / "version").read_text() == "$Format:%H$\n" and (out / "inside").read_text() == "assert 1\n"
    assert not (tmp_path / "ran").exists()
    with pytest.raises(BadInput):
        await repo.checkout(sha, out)


async def test_a_forged_tree_cannot_write_outside_of_the_checkout(work, tmp_path: Path) -> None:
    work.commit("Begin", a="1\n")
    blob = work.git("rev-parse", "HEAD:a")
    link = work.git("hash-object", "-w", "--stdin", stdin=b"..")
    raw = lambda mode, name, sha: f"{mode} {name}".encode() + b"\0" + bytes.fromhex(sha)  # noqa: E731
    inner = work.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=raw("100644", "evil", blob))
    tree = work.git(
        "hash-object", "-w", "-t", "tree", "--literally", "--stdin",
        stdin=raw("40000", "..", inner) + raw("40000", ".GIT", inner) + raw("120000", "d", link)
        + raw("40000", "d", inner) + raw("100644", "good", blob) + raw("100644", "good", blob),
    )  # fmt: skip
    sha = work.git("commit-tree", tree, "-m", "Forged")
    repo = await open_repository("r", work.path)
    await repo.checkout(sha, tmp_path / "deep" / "out")
    found = sorted(str(p.relative_to(tmp_path / "deep")) for p in (tmp_path / "deep").rglob("*"))
    assert found == ["out", "out/d", "out/d/evil", "out/good"]


async def test_a_hostile_configuration_runs_nothing(work, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    work.write(".gitattributes", "*.py diff=evil\n")
    old = work.commit("Begin", **{"a.py": "1\n"})
    sha = work.commit("Next", **{"a.py": "2\n"})
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    for key in (
        "diff.evil.command",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
        "gpg.program",
        "core.pager",
    ):
        work.git("config", key, str(program))
    work.git("config", "log.showSignature", "true")
    work.git("config", "diff.noprefix", "true")
    work.git("config", "color.ui", "always")
    repo = await open_repository("r", work.path)
    assert (await repo.commit(sha)).files[0].hunks[0].added == ("2",)
    assert "diff --git a/a.py b/a.py" in await repo.diff(old, sha)
    assert not marker.exists()


async def test_git_is_stopped_in_time_and_leaves_no_process(work) -> None:
    work.commit("Begin", a="1\n")
    with pytest.raises(RepositoryError) as caught:
        await run_git(work.path, ["cat-file", "--batch-all-objects", "--batch"], timeout=0.0)
    assert caught.value.reason is Reason.TIMEOUT


async def test_a_missing_git_says_so(work, monkeypatch) -> None:
    async def absent(*arguments: object, **options: object) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", absent)
    assert (await failure(open_repository("r", work.path))).reason is Reason.NOT_INSTALLED


async def test_paths_that_are_not_utf8_are_shown_and_checked_out(work, tmp_path: Path) -> None:
    work.write(os.fsdecode(b"latin-\xe9.txt"), "x\n")
    sha = work.commit("Begin")
    repo = await open_repository("r", work.path)
    assert await repo.files(sha) == ["latin-\ufffd.txt"]
    await repo.checkout(sha, tmp_path / "out")
    assert os.listdir(os.fsencode(tmp_path / "out")) == [b"latin-\xe9.txt"]


async def test_a_large_tree_is_refused_before_it_is_written(work, tmp_path: Path, monkeypatch) -> None:
    sha = work.commit("Begin", a="1\n" * 100, b="2\n")
    repo = await open_repository("r", work.path)
    monkeypatch.setattr("retrieval.code.tree._BATCH_FILES", 1)
    await repo.checkout(sha, tmp_path / "fits")
    assert sorted(os.listdir(tmp_path / "fits")) == ["a", "b"]
    monkeypatch.setattr("retrieval.code.tree.CHECKOUT_LIMIT", 10)
    assert (await failure(repo.checkout(sha, tmp_path / "out"))).reason is Reason.TOO_LARGE
    assert not (tmp_path / "out").exists()


def test_the_port_is_fulfilled() -> None:
    from retrieval.ports import Repository

    promised = {name for name in vars(Repository) if not name.startswith("_")} - {"name", "path"}
    assert promised <= set(dir(GitRepository))
    assert subprocess.run(["git", "--version"], capture_output=True, check=True).stdout.startswith(b"git version")


async def test_versions_are_read_once_each_and_what_is_absent_or_odd_is_left_out(work) -> None:
    first = work.commit("One", **{"a.py": "x = 1\n", "large.py": "y" * 100})
    second = work.commit("Two", **{"b.py": "x = 1\n", "a.py": "x = 2\n"})
    repo = await open_repository("shop", work.path)
    odd = [(second, "no.py"), (second, "./a.py"), (second, "a.py\nb.py"), (second, ""), (second, "large.py")]

    wanted = [(first, "a.py"), (second, "a.py"), (second, "b.py"), *odd]
    found = [version async for version in repo.read_versions(wanted, limit=50)]

    assert found == [([(first, "a.py"), (second, "b.py")], b"x = 1\n"), ([(second, "a.py")], b"x = 2\n")]
    assert [version async for version in repo.read_versions([(second, "./a.py")], limit=50)] == []
