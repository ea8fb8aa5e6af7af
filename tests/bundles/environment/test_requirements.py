"""What a repository declares, in every format; and what is not followed."""

import pytest

from bundles.environment.discover import Declared, discover
from bundles.environment.requirements import Unreadable, parse

FILES = {
    "requirements.txt": "flask==3.0.3  # web\n\n# a comment\nuvicorn[standard] >= 0.30 ; python_version > '3.8'\n",
    "requirements-dev.txt": "-r requirements.txt\npytest==8.3.4\n-c limits.txt\n",
    "limits.txt": "werkzeug<3.1\n",
    "svc/requirements.txt": "-r ../requirements.txt\nredis\n",
}


async def found(files: dict[str, str], declared: str = "", prefix: str = "") -> Declared:
    async def read(path: str) -> str | None:
        return files.get(path)

    return await discover(read, declared=declared, prefix=prefix)


async def test_declared_files_are_read_with_what_they_include() -> None:
    declared = await found(FILES, "requirements-dev.txt")
    assert declared.files == ("requirements-dev.txt", "requirements.txt", "limits.txt")
    assert declared.lines == ("pytest==8.3.4", "flask==3.0.3", "uvicorn[standard] >= 0.30 ; python_version > '3.8'")
    assert declared.constraints == ("werkzeug<3.1",) and not declared.problem


async def test_what_only_its_tests_need_is_found_beside_the_declared() -> None:
    declared = await found(FILES, "requirements.txt")
    assert declared.dev_lines == ("pytest==8.3.4",)


async def test_by_convention_the_services_folder_comes_first() -> None:
    declared = await found(FILES, prefix="svc/")
    assert declared.files[:2] == ("svc/requirements.txt", "requirements.txt")
    assert declared.lines[0] == "redis" and declared.dev_lines == ("pytest==8.3.4",)


async def test_nothing_declared_is_no_problem() -> None:
    assert await found({"pyproject.toml": "[tool.pytest.ini_options]\n"}) == Declared()


async def test_a_declared_file_that_is_absent_is_named() -> None:
    assert "absent.txt is not in the repository" in (await found(FILES, "absent.txt")).problem


async def test_a_file_that_cannot_be_read_is_named() -> None:
    assert (await found({"pyproject.toml": "[["}, "pyproject.toml")).problem == "pyproject.toml cannot be read"


async def test_includes_that_leave_the_repository_or_go_in_circles_end() -> None:
    files = {
        "requirements.txt": "-r ../../etc/x\n-r http://example.com/r.txt\n-r b.txt\na",
        "b.txt": "-r requirements.txt\nb",
    }
    declared = await found(files, "requirements.txt")
    assert declared.lines == ("a", "b")
    assert declared.left_out == ("-r ../../etc/x", "-r http://example.com/r.txt")


@pytest.mark.parametrize(
    "line",
    [
        "-e .",
        "-e git+https://example.com/x.git#egg=x",
        "./local",
        "package @ https://example.com/p.whl",
        "https://example.com/p.whl",
        "--index-url https://example.com/simple",
        "--extra-index-url=https://user:password@example.com/simple",
        "--find-links /srv/wheels",
        "../other",
        "name; import os",
        "$(touch /tmp/x)",
    ],
)
def test_what_would_run_code_or_ask_another_host_is_left_out(line: str) -> None:
    parsed = parse("requirements.txt", f"{line}\nflask\n")
    assert "flask" in parsed.lines
    assert all(not part.startswith("-") and "/" not in part and "$" not in part for part in parsed.lines)


def test_hashes_and_continued_lines_are_understood() -> None:
    text = "flask==3.0.3 \\\n    --hash=sha256:aaaa \\\n    --hash=sha256:bbbb\nredis\n"
    assert parse("requirements.txt", text).lines == ("flask==3.0.3", "redis")


PYPROJECT = """
[project]
dependencies = ["flask>=3", "x @ https://example.com/x.whl"]
[project.optional-dependencies]
test = ["pytest"]
docs = ["sphinx"]
[dependency-groups]
dev = ["httpx", {include-group = "test"}]
[tool.poetry.dependencies]
python = "^3.11"
requests = "^2.31"
zero = "^0.2.3"
tilde = "~1.4"
exact = "1.2.3"
any = "*"
extra = {version = ">=1,<2", extras = ["a", "b"], markers = "sys_platform == 'linux'"}
local = {path = "../local"}
[tool.poetry.group.dev.dependencies]
black = "*"
"""


def test_pyproject_is_read_in_both_its_dialects() -> None:
    parsed = parse("pyproject.toml", PYPROJECT)
    assert parsed.lines == (
        "flask>=3", "pytest", "httpx", "any", "exact==1.2.3", "extra[a,b]>=1,<2 ; sys_platform == 'linux'",
        "requests>=2.31,<3", "tilde>=1.4,<1.5", "zero>=0.2.3,<0.3", "black",
    )  # fmt: skip
    assert parsed.left_out == ("x @ https://example.com/x.whl",)
    assert "pytest" not in parse("pyproject.toml", PYPROJECT, dev=False).lines


def test_locks_give_exact_versions_of_what_is_on_an_index() -> None:
    poetry = '[[package]]\nname = "flask"\nversion = "3.0.3"\n'
    poetry += '[[package]]\nname = "own"\nversion = "1"\nsource = {type = "git"}\n'
    assert parse("poetry.lock", poetry).lines == ("flask==3.0.3",)
    uv = '[[package]]\nname = "own"\nversion = "1"\nsource = {virtual = "."}\n'
    uv += '[[package]]\nname = "redis"\nversion = "5.0"\n'
    assert parse("uv.lock", uv).lines == ("redis==5.0",)
    pipfile = (
        '{"default": {"a": {"version": "==1", "extras": ["x"], "markers": "os_name == \'nt\'"}, "b": {"version": "*"}}}'
    )
    assert parse("Pipfile.lock", pipfile).lines == ("a[x]==1 ; os_name == 'nt'", "b")


def test_setup_cfg_is_read() -> None:
    text = "[options]\ninstall_requires =\n    flask\n    redis>=5\n"
    text += "[options.extras_require]\ntest = pytest\ndocs = sphinx\n"
    assert parse("setup.cfg", text).lines == ("flask", "redis>=5", "pytest")


@pytest.mark.parametrize("name", ["pyproject.toml", "Pipfile.lock", "setup.cfg", "uv.lock"])
def test_another_format_than_the_name_says_is_refused(name: str) -> None:
    with pytest.raises(Unreadable, match=name):
        parse(name, "[a\n\x00 = {")
