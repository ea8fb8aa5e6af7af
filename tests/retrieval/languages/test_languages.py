"""Every registered language keeps the contract; the registry finds them."""

import pytest

from retrieval.languages import LANGUAGES, language_of, parse_stack_traces
from tests.contract.language import TRACES, LanguageContract, traces_of


@pytest.fixture(params=sorted(LANGUAGES), autouse=True)
def _language(request: pytest.FixtureRequest) -> None:
    if isinstance(request.instance, LanguageContract):
        request.instance.language = LANGUAGES[request.param]


class TestEveryLanguage(LanguageContract):
    pass


def test_a_language_is_found_by_the_extension_of_a_file() -> None:
    names = {
        path: getattr(language_of(path), "name", None) for path in ("a/b.py", "C.java", "x.pyi", "Makefile", "a.txt")
    }
    assert names == {"a/b.py": "python", "C.java": "java", "x.pyi": "python", "Makefile": None, "a.txt": None}


def test_traces_of_every_language_are_found_in_one_text() -> None:
    text = "\n\n".join(traces_of(name)[0].read_text() for name in sorted(LANGUAGES))
    assert {trace.language for trace in parse_stack_traces(text)} == set(LANGUAGES)


def test_the_registry_and_the_captured_traces_agree() -> None:
    assert {folder.name for folder in TRACES.iterdir()} - {"other"} == set(LANGUAGES)
