"""Streams that git never prints: an error, never a wrong commit."""

import pytest

from retrieval.code.logparse import parse_log
from retrieval.errors import Reason, RepositoryError

HEAD = b"\x01" + b"\0".join([b"a" * 40, b"", b"Ada", b"1700000000", b"1700000060", b"Subject", b"Body\n"]) + b"\0"
RAW = b"\0\n:100644 100644 " + b"1" * 40 + b" " + b"2" * 40 + b" M\0a.py\0\0"
PATCH = (
    b"diff --git a/a.py b/a.py\nindex " + b"1" * 40 + b".." + b"2" * 40 + b" 100644\n--- a/a.py\n+++ b/a.py\n"
    b"@@ -1 +1 @@\n-one\n+two\n"
)


def test_a_whole_stream_is_read() -> None:
    (commit,) = parse_log(HEAD + RAW + PATCH, "r")
    assert (commit.subject, commit.body, commit.author_ns) == ("Subject", "Body", 1_700_000_000 * 10**9)
    assert commit.files[0].hunks[0].added == ("two",)
    assert parse_log(b"", "r") == []


@pytest.mark.parametrize(
    "stream",
    [
        b"nonsense",
        HEAD[:20],
        HEAD + b"\0\n:100644",
        HEAD + RAW + PATCH.replace(b"+two\n", b""),
        HEAD + RAW + b"trailing",
    ],
)
def test_a_broken_stream_is_an_error(stream: bytes) -> None:
    with pytest.raises(RepositoryError) as caught:
        parse_log(stream, "r")
    assert caught.value.reason is Reason.CORRUPT and caught.value.remedy


def test_a_section_of_an_unknown_blob_is_read_and_dropped() -> None:
    (commit,) = parse_log(HEAD + RAW + PATCH.replace(b"2" * 40, b"3" * 40), "r")
    assert commit.files[0].hunks == ()


def test_a_time_that_is_no_number_is_the_epoch() -> None:
    assert parse_log(HEAD.replace(b"1700000000", b"soon"), "r")[0].author_ns == 0
