"""Functions as they were before a commit, in a later version of their file."""

from bundles.patch.restore import restore_functions, touched_functions
from retrieval.model import Hunk

BEFORE = '''"""Amounts."""
import re
import os, sys as system

AMOUNT = re.compile(r"\\d+")
LIMIT = BASE = 10


def base():
    return BASE


class Reader:
    @property
    def value(self):
        return parse("1")


def parse(text):
    if not AMOUNT.match(text) or system.maxsize < base():
        raise ValueError(text)
    return int(text)
'''
AT_COMMIT = '''"""Amounts."""
from decimal import Decimal


class Reader:
    @property
    def value(self):
        return parse("1")


def parse(text):
    return int(Decimal(text))
'''
LATER = (
    AT_COMMIT.replace("    return int(Decimal", "    text = text.strip()\n    return int(Decimal")
    + "\n\ndef new():\n    pass\n"
)


def test_the_functions_that_a_commit_changed_are_named() -> None:
    body = Hunk(old_start=21, old_lines=3, new_start=12, new_lines=1)
    assert touched_functions(BEFORE, AT_COMMIT, [body]) == ["parse"]
    head = Hunk(old_start=2, old_lines=2, new_start=2, new_lines=1)
    assert touched_functions(BEFORE, AT_COMMIT, [head]) == []
    inside = Hunk(old_start=15, old_lines=1, new_start=8, new_lines=1)
    assert touched_functions(BEFORE, AT_COMMIT, [inside]) == ["Reader.value"]


def test_a_function_comes_back_with_what_it_needs_and_nothing_else_moves() -> None:
    text = restore_functions(LATER, BEFORE, ["parse"])
    assert text is not None
    namespace: dict[str, object] = {}
    exec(compile(text, "x", "exec"), namespace)  # our own text
    assert namespace["parse"]("12") == 12  # type: ignore[operator]
    assert "import re\n" in text and "import sys as system\n" in text and "import os" not in text
    assert text.startswith('"""Amounts."""\nfrom decimal import Decimal\n') and text.endswith("def new():\n    pass\n")
    assert "def base():" in text and text.count("class Reader") == 1


def test_a_method_keeps_its_decorator_and_indentation() -> None:
    changed = LATER.replace('return parse("1")', 'return parse("2")')
    assert restore_functions(changed, BEFORE, ["Reader.value"]) == LATER


def test_an_outer_function_does_not_stand_for_an_inner_one() -> None:
    old = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    new = old.replace("return 1", "return 2")
    hunk = Hunk(old_start=3, old_lines=1, new_start=3, new_lines=1)
    assert touched_functions(old, new, [hunk]) == ["outer.inner"]


def test_what_cannot_come_back_is_left() -> None:
    assert restore_functions(LATER, BEFORE, ["absent"]) is None
    assert restore_functions(LATER, BEFORE, []) is None
    assert restore_functions("def parse(:\n", BEFORE, ["parse"]) is None
    assert restore_functions(BEFORE, BEFORE, ["parse"]) is None


def test_a_file_without_imports_gets_them_at_its_top() -> None:
    before = "import re\n\n\ndef f():\n    return re\n"
    assert restore_functions("def f():\n    return 1\n", before, ["f"]) == "import re\n\ndef f():\n    return re\n"
