"""Bodies: whole, under a limit, or refused with the reason."""

import gzip
import zlib

import pytest

from bot.intake.body import Refused, unpacked

TEXT = b"what was sent, more than once " * 400


def bare(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-15)
    return encoder.compress(data) + encoder.flush()


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (gzip.compress(TEXT), "gzip"),
        (gzip.compress(TEXT[:50]) + gzip.compress(TEXT[50:]), "gzip"),
        (zlib.compress(TEXT), "deflate"),
        (bare(TEXT), "deflate"),
    ],
    ids=["gzip", "two members", "zlib", "bare deflate"],  # packed bytes hold the time and can't name a test
)
def test_each_encoding_gives_back_what_was_packed(raw: bytes, encoding: str) -> None:
    assert unpacked(raw, encoding, len(TEXT)) == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_nothing_unpacks_to_nothing(encoding: str) -> None:
    assert unpacked(b"", encoding, 10) == b""


@pytest.mark.parametrize(
    ("packed", "encoding"), [(gzip.compress(TEXT), "gzip"), (zlib.compress(TEXT), "deflate")], ids=["gzip", "deflate"]
)
def test_a_body_cut_off_anywhere_is_refused_and_never_shortened(packed: bytes, encoding: str) -> None:
    for end in range(1, len(packed)):
        with pytest.raises(Refused) as refusal:
            unpacked(packed[:end], encoding, len(TEXT))
        assert refusal.value.status == 400


@pytest.mark.parametrize(
    "raw",
    [b"no gzip", gzip.compress(TEXT)[:-8] + b"\0" * 8, gzip.compress(TEXT) + b"more"],
    ids=["no gzip", "wrong checksum", "more behind"],
)
def test_a_damaged_body_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused) as refusal:
        unpacked(raw, "gzip", len(TEXT))
    assert (refusal.value.status, refusal.value.reason) == (400, "broken_body")


def test_a_body_that_grows_beyond_the_limit_is_refused_before_it_is_whole() -> None:
    bomb = gzip.compress(b"\0" * 2**26)
    with pytest.raises(Refused) as refusal:
        unpacked(bomb, "gzip", 2**20)
    assert refusal.value.status == 413
    with pytest.raises(Refused):
        unpacked(gzip.compress(b"x" * 1001), "gzip", 1000)
    assert unpacked(gzip.compress(b"x" * 1000), "gzip", 1000) == b"x" * 1000
