"""Log lines with what every runtime prints below them."""

import pytest

from retrieval.ingest.exceptions import of_text, split
from retrieval.languages import LANGUAGES
from tests.contract.language import traces_of


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_log_line_keeps_the_exception_that_is_printed_below_it(language: str) -> None:
    for path in traces_of(language):
        types = {trace.type for trace in LANGUAGES[language].parse(path.read_text())}
        said, stack = split(f"payment failed\n{path.read_text()}")
        exception = of_text(stack)
        assert said.startswith("payment failed"), path.name
        assert exception is not None and exception.trace is not None, path.name
        assert exception.trace.language == language, path.name
        assert exception.trace.type in types, path.name


def test_a_message_of_several_lines_without_a_trace_stays_whole() -> None:
    assert split("Error: a\nsee main.go:12\nb:in `c'") == ("Error: a\nsee main.go:12\nb:in `c'", "")
