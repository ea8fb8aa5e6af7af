"""OTLP/HTTP as its specification has it: what real exporters sent, and everything that is not like that."""

import asyncio
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bot.intake.otlp.encoding import JSON, PROTOBUF, Signal
from retrieval.errors import StoreError
from tests.bot.intake.otlp.sending import RESPONSES, Sent, Server, a_log, a_span, attributes, logs, serving, traces

BEARER = {"RECEIPTS_ALERTS__TOKENS": '["t1"]'}


async def test_what_an_exporter_sent_is_taken_and_found(server: Server, sent: Sent) -> None:
    answer = await server.send(sent)

    assert (answer.status, answer.content_type) == (200, sent.headers["Content-Type"])
    if answer.content_type == JSON:
        assert answer.json == {}
    else:
        assert not RESPONSES[sent.signal].FromString(answer.body).HasField("partial_success")
    held = await server.held()
    if sent.signal is Signal.TRACES:
        (failed,) = [span for span in held.spans if span.exception]
        assert failed.exception.type.rpartition(".")[2] in ("TimeoutError", "TypeError", "ValueError")
        assert failed.service in ("checkout", "cart")
        assert {len(span.trace_id) for span in held.spans} == {32}
        assert len(held.spans) == (1 if sent.name.startswith("js") else 4)
    elif sent.signal is Signal.LOGS:
        (record,) = held.logs
        assert record.exception and record.exception.type == "TimeoutError"
        assert (record.service, record.body, len(record.trace_id), len(record.span_id)) == (
            "checkout", "charge failed", 32, 16,
        )  # fmt: skip
    else:
        names = {series.metric for series in held.series}
        assert names == {
            "http_server_request_duration_rate", "http_server_request_duration_mean",
            "http_server_request_duration_p95", "orders_rate",
        }  # fmt: skip
        assert {series.service for series in held.series} == {"checkout"}


async def test_the_same_request_again_changes_nothing(server: Server, sent: Sent) -> None:
    first, again = await server.send(sent), await server.send(sent)
    held = await server.held()
    third = await server.send(sent)

    assert (first.status, again.status, third.status, first.body) == (200, 200, 200, again.body)
    assert await server.held() == held


@pytest.mark.parametrize("signal", list(Signal))
@pytest.mark.parametrize(("body", "kind"), [(b"", PROTOBUF), (b"{}", JSON)])
async def test_an_empty_request_is_a_success(server: Server, signal: Signal, body: bytes, kind: str) -> None:
    answer = await server.post(signal, body, {"Content-Type": kind})

    assert (answer.status, answer.content_type, answer.body) == (200, kind, body)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", JSON),
        (b"{", JSON),
        (b"[]", JSON),
        (b"null", JSON),
        (b'{"resourceSpans": {}}', JSON),
        (b'{"resourceSpans": [5]}', JSON),
        (b'{"resourceSpans": [{"scopeSpans": "x"}]}', JSON),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [null, 1]}]}]}', JSON),
        (b"[" * 100_000, JSON),
        (b'{"a":' * 100_000, JSON),
        (b"\x0a\xff\xff", PROTOBUF),
        (b"{}", PROTOBUF),
        (b"\x0a\x7f", PROTOBUF),
    ],
    ids=lambda value: repr(value[:40]),
)
async def test_a_body_that_is_no_otlp_is_400_with_a_status(server: Server, body: bytes, kind: str) -> None:
    answer = await server.post("traces", body, {"Content-Type": kind})

    assert (answer.status, answer.content_type) == (400, kind)
    if kind == JSON:
        assert answer.json["code"] == 3
        assert len(answer.json["message"]) > 10
    else:
        assert answer.body.startswith(b"\x08\x03\x12")
    assert not (await server.held()).spans


async def test_protobuf_cut_off_anywhere_is_400_or_fewer_whole_records(server: Server) -> None:
    body = next(p for p in _captured("py_plain_traces_1.body.pb"))
    for end in range(1, len(body), 97):
        answer = await server.post("traces", body[:end], {"Content-Type": PROTOBUF})
        assert answer.status == 400


def _captured(name: str) -> list[bytes]:
    return [(Path(__file__).parents[3] / "captured" / "otlp" / name).read_bytes()]


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "application/grpc"])
async def test_another_content_type_is_415(server: Server, kind: str) -> None:
    answer = await server.post("logs", b"{}", {"Content-Type": kind})

    assert (answer.status, answer.content_type) == (415, JSON)
    assert "application/x-protobuf" in answer.json["message"]


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip"])
async def test_an_encoding_that_is_not_known_is_415(server: Server, encoding: str) -> None:
    answer = await server.post("logs", b"{}", {"Content-Encoding": encoding})

    assert answer.status == 415
    assert answer.headers["Accept-Encoding"] == "gzip, deflate"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("GZIP", gzip.compress), ("identity", bytes)],
)
async def test_each_encoding_is_unpacked(server: Server, encoding: str, pack: Any) -> None:
    body = json.dumps(logs(a_log(0, "hello", severityNumber=17))).encode()
    answer = await server.post("logs", pack(body), {"Content-Encoding": encoding})

    assert answer.status == 200
    assert [r.body for r in (await server.held()).logs] == ["hello"]


async def test_a_packed_body_that_is_cut_off_or_corrupt_is_400_and_nothing_of_it_is_kept(server: Server) -> None:
    packed = gzip.compress(json.dumps(logs(*(a_log(n, f"line {n}") for n in range(50)))).encode())
    for broken in (packed[:-1], packed[:-8], packed[: len(packed) // 2], packed[:3], b"no gzip", packed[2:]):
        answer = await server.post("logs", broken, {"Content-Encoding": "gzip"})
        assert (answer.status, answer.json["code"]) == (400, 3)
    answer = await server.post("logs", packed[:-8] + bytes(8), {"Content-Encoding": "gzip"})
    assert answer.status == 400
    assert not (await server.held()).logs


async def test_a_body_beyond_64_mib_is_413_packed_or_not(server: Server) -> None:
    bomb = gzip.compress(b" " * (2**26 + 1), 1)
    answer = await server.post("metrics", bomb, {"Content-Encoding": "gzip"})
    assert (answer.status, answer.json["code"]) == (413, 8)

    answer = await server.post("metrics", b"", {"Content-Length": str(2**26 + 1)})
    assert answer.status == 413


async def test_whoever_is_not_known_is_401_before_the_body_is_read(tmp_path: Path) -> None:
    async with serving(tmp_path, **BEARER) as server:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            answer = await server.post("traces", b"broken", headers)
            assert (answer.status, answer.json["code"]) == (401, 16)
            assert "Bearer" in answer.headers["WWW-Authenticate"]
        answer = await server.post("traces", b"{}", {"Authorization": "Bearer t1"})
        assert answer.status == 200

        port = server.here.client.port
        assert port is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")  # and no body
        async with asyncio.timeout(5):
            assert b" 401 " in await reader.readline()
        writer.close()


async def test_a_body_that_breaks_off_is_not_kept(server: Server) -> None:
    port = server.here.client.port
    assert port is not None
    body = json.dumps(logs(a_log(0, "x", severityNumber=17))).encode()
    head = f"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: {len(body) + 9}\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + body)
    writer.write_eof()
    async with asyncio.timeout(5):
        await reader.read()
    writer.close()

    assert not (await server.held()).logs


async def test_a_body_that_does_not_come_is_408(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.intake.body.READ_S", 0.05)
    port = server.here.client.port
    assert port is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
    async with asyncio.timeout(5):
        assert b" 408 " in await reader.readline()
    writer.close()


async def test_on_loopback_a_web_page_may_not_send(server: Server) -> None:
    assert (await server.post("traces", b"{}", {"Origin": "https://elsewhere.example"})).status == 401


async def test_good_records_are_kept_and_bad_ones_counted_with_their_reasons(server: Server) -> None:
    bad = [
        a_span(1, traceId="4bf92f3577b34da6a3ce929d0e0e473"),
        a_span(2, traceId="0" * 32),
        a_span(3, traceId="S/kvNXezTaajzpKdDg5HNg=="),
        a_span(4, spanId=""),
        {**a_span(5), "startTimeUnixNano": "0"},
        {**a_span(6), "traceId": 7},
    ]
    good = a_span(0, status={"code": "STATUS_CODE_ERROR"})
    answer = await server.post_json("traces", traces(*bad, good))

    assert answer.status == 200
    partial = answer.json["partialSuccess"]
    assert partial["rejectedSpans"] == "6"
    assert "4 × a span whose traceId is not 32 hexadecimal digits" in partial["errorMessage"]
    assert [span.status for span in (await server.held()).spans] == ["error"]


async def test_rejections_are_told_in_protobuf_too(server: Server) -> None:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = b"short", b"12345678"
    answer = await server.post("traces", request.SerializeToString(), {"Content-Type": PROTOBUF})

    response = RESPONSES[Signal.TRACES].FromString(answer.body)
    assert (answer.status, response.partial_success.rejected_spans) == (200, 1)
    assert "traceId" in response.partial_success.error_message


async def test_json_is_read_leniently(server: Server) -> None:
    span = a_span(
        0,
        traceId="ABCDEF0123456789ABCDEF0123456789",
        kind="SPAN_KIND_CLIENT",
        status={"code": 2, "message": None},
        startTimeUnixNano=1796079600000000000,
        newField={"a": [1]},
        attributes=[
            {"key": "n", "value": {"intValue": "9007199254740993"}},
            {"key": "m", "value": {"intValue": 9007199254740993}},
            {"key": "huge", "value": {"intValue": 10**40}},
            {"key": "list", "value": {"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": 0.5}]}}},
            {"key": "map", "value": {"kvlistValue": {"values": attributes(a="b")}}},
            {"key": "none", "value": {}},
            "not a pair",
        ],
    )
    assert (await server.post_json("traces", {**traces(span), "unknown": 1})).json == {}

    (found,) = (await server.held()).spans
    assert found.trace_id == "abcdef0123456789abcdef0123456789"
    assert (found.kind, found.status, found.start_ns) == ("client", "error", 1796079600000000000)
    assert found.attributes["n"] == found.attributes["m"] == 9007199254740993
    assert (found.attributes["list"], found.attributes["map"]) == ([True, 0.5], {"a": "b"})


async def test_exceptions_are_found_in_span_events_and_in_log_records(server: Server) -> None:
    stack = 'Traceback (most recent call last):\n  File "/srv/pay.py", line 3, in charge\n    x.y\nKeyError: 1'
    named = attributes(exception__type="KeyError", exception__message="1", exception__stacktrace=stack)
    event = {"name": "exception", "timeUnixNano": str(1796079600 * 10**9), "attributes": named}
    await server.post_json("traces", traces(a_span(0, events=[event])))
    await server.post_json("logs", logs(a_log(0, "failed", severityText="ERROR", severityNumber=0, attributes=named)))

    held = await server.held()
    for found in (held.spans[0].exception, held.logs[0].exception):
        assert found is not None and found.trace is not None
        assert (found.type, found.trace.frames[-1].function) == ("KeyError", "charge")
    assert held.logs[0].severity == 17


async def test_older_attribute_names_say_that_a_request_failed(server: Server) -> None:
    span = a_span(0, attributes=[{"key": "http.status_code", "value": {"intValue": "503"}}])
    await server.post_json("traces", traces(span))

    assert [s.http_status for s in (await server.held()).spans] == [503]


async def test_a_log_record_without_a_time_gets_the_time_of_its_coming(server: Server) -> None:
    record = {"severityNumber": "SEVERITY_NUMBER_ERROR", "eventName": "device.app.crash"}
    before = server.collector.options.clock.now_ns()
    assert (await server.post_json("logs", logs(record))).json == {}

    (found,) = (await server.held()).logs
    assert before <= found.time_ns <= server.collector.options.clock.now_ns()
    assert found.body == "device.app.crash"


async def test_secrets_are_gone_before_anything_is_on_disk(server: Server, tmp_path: Path) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    mail = "jane.roe@example.org"
    record = a_log(
        0, f"login of {mail} with {secret}", severityNumber=17, attributes=attributes(password="hunter2-hunter2")
    )
    span = a_span(
        0,
        status={"code": 2, "message": f"denied for {mail}"},
        attributes=attributes(authorization="Bearer abcdefghijkl1234"),
    )
    await server.post_json("logs", logs(record))
    await server.post_json("traces", traces(span))

    def on_disk() -> bytes:
        return b"".join(p.read_bytes() for p in sorted(tmp_path.rglob("*")) if p.is_file())

    rows = await server.collector.spool.take(received_before_ns=2**62, size=2**30)
    raw = b"".join(zlib.decompress(row.body) for row in rows) + on_disk()
    held = await server.held()
    for hidden in (secret, mail, "hunter2-hunter2", "abcdefghijkl1234"):
        assert hidden.encode() not in raw + on_disk()
        assert hidden not in repr(held)
    assert len(held.logs) == len(held.spans) == 1


async def test_when_too_much_waits_a_sender_is_asked_to_come_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.otlp.collector.FULL", 0)
    answer = await server.post("traces", b"{}")
    assert (answer.status, answer.json["code"]) == (503, 14)
    assert int(answer.headers["Retry-After"]) > 0

    monkeypatch.setattr("bot.intake.otlp.collector.FULL", 2**30)
    monkeypatch.setattr("bot.intake.otlp.routes.IN_FLIGHT", 1000)
    assert (await server.post("traces", b" " * 1000 + b"{}")).status == 503
    assert (await server.post("traces", b" " * 900 + b"{}")).status == 200


async def test_a_disk_that_cannot_keep_it_is_503_and_nothing_is_acknowledged(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(request: object) -> bool:
        raise StoreError("full")

    with monkeypatch.context() as patched:
        patched.setattr(server.collector.spool, "put", full)
        answer = await server.post_json("logs", logs(a_log(0, "x", severityNumber=17)))
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert not (await server.held()).logs


async def test_what_came_is_counted(server: Server) -> None:
    await server.post_json("traces", traces(a_span(0), a_span(1, traceId="x")))
    async with server.here.client.get("/metrics") as response:
        text = await response.text()

    assert 'receipts_telemetry_records_total{outcome="accepted",signal="traces"} 1' in text
    assert 'receipts_telemetry_records_total{outcome="rejected",signal="traces"} 1' in text


async def test_it_is_described(server: Server) -> None:
    async with server.here.client.get("/openapi.json") as response:
        paths = (await response.json())["paths"]

    for signal in Signal:
        assert set(paths[f"/v1/{signal}"]["post"]["requestBody"]["content"]) == {JSON, PROTOBUF}
        assert paths[f"/v1/{signal}"]["post"]["security"]
    async with server.here.client.get("/v1/traces") as response:
        assert response.status == 405
