"""What a healthy node can't be made to answer, from a server that follows a script."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from retrieval.errors import BadInput, Reason, StoreError, StoreUnavailable
from retrieval.index import open_index
from retrieval.index.elasticsearch import bulk
from retrieval.index.elasticsearch.bulk import Operation, Writer
from retrieval.index.elasticsearch.client import connect
from retrieval.index.place import Access, place_of
from tests.contract.index_documents import FixedClock, document, query

PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
Answer = Callable[[list[str]], web.Response | Awaitable[web.Response]]


class Script:
    """Answers each bulk request by the next of `bulks` (the last one again and again), all else as a node would."""

    def __init__(self, *bulks: Answer, headers: dict[str, str] | None = None, **others: tuple[int, Any]) -> None:
        self.bulks, self.headers, self.others = list(bulks), PRODUCT if headers is None else headers, others
        self.sent: list[list[str]] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        body = (await request.read()).decode()
        if request.path.endswith("/_bulk"):
            actions = [json.loads(line) for line in body.splitlines() if line]
            ids = [next(iter(a.values()))["_id"] for a in actions if set(a) <= {"index", "delete"}]
            self.sent.append(ids)
            answer = self.bulks.pop(0) if len(self.bulks) > 1 else self.bulks[0]
            made = answer(ids)
            return made if isinstance(made, web.Response) else await made
        name = request.path.strip("/").rpartition("/")[2]
        status, answer_body = self.others.get(name.strip("_"), (200, {}))
        if "/_doc/" in request.path and request.method == "GET":
            status, answer_body = 404, {"found": False}
        if not request.path.strip("/"):
            answer_body = {"version": {"number": "8.19.9"}, "tagline": "You Know, for Search"}
        return web.json_response(answer_body, status=status, headers=self.headers)


def items(*statuses: int, kind: str = "") -> Answer:
    """One status for each item, in turn."""

    def answer(ids: list[str]) -> web.Response:
        found = []
        for at, key in enumerate(ids):
            status = statuses[at % len(statuses)]
            error = {"error": {"type": kind or "es_rejected_execution_exception"}} if status >= 400 else {}
            found.append({"index": {"_id": key, "status": status, **error}})
        return web.json_response({"errors": False, "items": found}, headers=PRODUCT)

    return answer


def status(number: int, kind: str = "error") -> Answer:
    return lambda ids: web.json_response({"error": {"type": kind}, "status": number}, status=number, headers=PRODUCT)


async def cut(ids: list[str]) -> web.Response:
    raise ConnectionResetError("cut")


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[str]:
    app = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await script(request)
        except ConnectionResetError:
            assert request.transport is not None
            request.transport.abort()
            raise

    app.router.add_route("*", "/{path:.*}", handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("")).rstrip("/")
    finally:
        await server.close()


@asynccontextmanager
async def writer(script: Script) -> AsyncIterator[tuple[Writer, list[float]]]:
    """A writer that doesn't wait, and how long it would have."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with serving(script) as url, connect(place_of(url), Access()) as client:
        yield Writer(client, sleep=sleep, draw=lambda: 1.0), waits


OPERATIONS = [Operation("index", "i", key, {"body": key}) for key in "abcdef"]


async def test_only_what_was_refused_for_now_is_sent_again_after_growing_waits() -> None:
    script = Script(items(201, 429), items(429), status(503), items(201))
    async with writer(script) as (sends, waits):
        written = await sends.write(OPERATIONS)

    assert (written.done, written.missed, written.rejected) == (6, 0, ())
    assert script.sent == [list("abcdef"), list("bdf"), list("bdf"), list("bdf")]
    assert waits == [1.0, 2.0, 4.0]


async def test_a_cut_connection_sends_the_same_ids_again() -> None:
    script = Script(cut, items(201))
    async with writer(script) as (sends, _):
        written = await sends.write(OPERATIONS)

    assert written.done == 6
    assert script.sent[-1] == list("abcdef")


async def test_what_never_gets_in_is_said_to_be_unavailable_after_the_last_try() -> None:
    script = Script(items(429))
    async with writer(script) as (sends, waits):
        with pytest.raises(StoreUnavailable, match="6 documents in 6 tries"):
            await sends.write(OPERATIONS)

    assert len(script.sent) == bulk.TRIES == len(waits) + 1


async def test_an_item_that_will_never_be_taken_is_told_apart() -> None:
    script = Script(items(201, 400, kind="document_parsing_exception"))
    async with writer(script) as (sends, _):
        written = await sends.write(OPERATIONS)

    assert written.done == 3
    assert [(r.operation.id, r.status, r.kind) for r in written.rejected] == [
        (key, 400, "document_parsing_exception") for key in "bdf"
    ]


async def test_a_chunk_that_is_too_large_goes_in_halves() -> None:
    def small(ids: list[str]) -> web.Response:
        answer = status(413) if len(ids) > 2 else items(201)
        made = answer(ids)
        assert isinstance(made, web.Response)
        return made

    script = Script(small)
    async with writer(script) as (sends, _):
        assert (await sends.write(OPERATIONS)).done == 6

    assert all(len(ids) <= 3 for ids in script.sent[1:])


async def test_one_document_that_is_too_large_is_set_aside() -> None:
    async with writer(Script(status(413))) as (sends, _):
        written = await sends.write(OPERATIONS[:1])

    assert [r.kind for r in written.rejected] == ["request_too_large"]


@pytest.mark.parametrize("answer", [items(403, kind="security_exception"), status(403, "security_exception")])
async def test_a_key_that_may_not_write_is_said_with_what_it_needs(answer: Answer) -> None:
    async with writer(Script(answer)) as (sends, _):
        with pytest.raises(StoreError, match="does not allow us to write documents") as refusal:
            await sends.write(OPERATIONS)

    assert refusal.value.subject == "store.api_key"
    assert "manage" in refusal.value.remedy


async def test_what_is_not_elasticsearch_is_refused_by_name() -> None:
    async with serving(Script(items(201), headers={})) as url:
        with pytest.raises(StoreError, match="is not Elasticsearch") as refusal:
            await open_index(url)

    assert refusal.value.subject == "store.url"


async def test_no_answer_at_all_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        await open_index("http://127.0.0.1:9/x")


async def test_indices_of_another_version_are_not_written_to() -> None:
    mapping = {"receipts-log": {"mappings": {"_meta": {"schema": 99}, "properties": {}}}}
    async with serving(Script(items(201), mapping=(200, mapping))) as url:
        with pytest.raises(StoreError, match="made by another version") as refusal:
            await open_index(url)

    assert "another prefix" in refusal.value.remedy


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((200, {"responses": [{"status": 503, "error": {"type": "no_shard_available"}}] * 2}), StoreUnavailable),
        ((429, {"error": {"type": "circuit_breaking_exception"}, "status": 429}), StoreUnavailable),
        ((400, {"error": {"type": "parsing_exception", "reason": "secret text"}, "status": 400}), StoreError),
    ],
)
async def test_a_search_that_only_some_shards_answered_is_no_answer(
    answer: tuple[int, Any], error: type[StoreError]
) -> None:
    async with serving(Script(items(201), msearch=answer)) as url:
        index = await open_index(url, clock=FixedClock())
        try:
            with pytest.raises(error) as refusal:
                await index.lexical(query("word", snapshot=""))
        finally:
            await index.close()
    assert "secret text" not in str(refusal.value)


async def test_a_rejected_document_is_set_aside_and_not_counted() -> None:
    script = Script(items(400, 201, kind="document_parsing_exception"), items(201))
    async with serving(script) as url:
        index = await open_index(url, clock=FixedClock())
        try:
            assert await index.put([document("a"), document("b")]) == 1
        finally:
            await index.close()
    assert len(script.sent) == 2
    assert len(script.sent[1]) == 1


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://user:pw@host:1/p", "credentials"),
        ("http://host:1/UPPER", "cannot begin"),
        ("http://host:1/a/b", "cannot begin"),
        ("http://host:99999", "no address"),
        ("http://host:1/p?x=1", "no address of a cluster"),
        ("https:///p", "no address of a cluster"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_the_remedy(url: str, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refusal:
        place_of(url)
    assert refusal.value.remedy
    assert refusal.value.reason is Reason.BAD_INPUT
    assert "pw" not in str(refusal.value)


def test_the_prefix_and_the_usual_port_are_the_defaults() -> None:
    assert (place_of("http://h").host, place_of("http://h").prefix) == ("http://h:9200", "receipts")
    assert (place_of("https://h/x").host, place_of("https://[::1]:9/x").host) == ("https://h:443", "https://[::1]:9")


async def test_a_file_of_certificates_that_is_none_is_named() -> None:
    with pytest.raises(BadInput, match="ca_certs"):
        await open_index("https://127.0.0.1:9", access=Access(ca_certs="/nowhere/ca.pem"))
