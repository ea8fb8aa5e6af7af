"""Sending OTLP to a whole server, and reading what its store then holds."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from bot.intake.otlp.collector import Collector
from bot.intake.otlp.encoding import JSON, Signal
from retrieval.kinds import load_sources
from retrieval.model import CaseSources
from tests.bot.serving import Served, served

RESPONSES = {
    Signal.TRACES: ExportTraceServiceResponse,
    Signal.LOGS: ExportLogsServiceResponse,
    Signal.METRICS: ExportMetricsServiceResponse,
}
START = 1_796_079_600 * 10**9
SECOND = 10**9


@dataclass(frozen=True)
class Sent:
    name: str
    signal: Signal
    body: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": JSON})


@dataclass(frozen=True)
class Answer:
    status: int
    content_type: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    def __init__(self, here: Served) -> None:
        self.here = here

    async def post(self, signal: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        sent = {"Content-Type": JSON, **(headers or {})}
        async with self.here.client.post(f"/v1/{signal}", data=body, headers=sent) as response:
            return await _answer(response)

    async def send(self, sent: Sent) -> Answer:
        return await self.post(sent.signal, sent.body, sent.headers)

    async def post_json(self, signal: str, body: object) -> Answer:
        return await self.post(signal, json.dumps(body).encode())

    @property
    def collector(self) -> Collector:
        memory = self.here.parts.memory
        assert memory is not None and memory.telemetry is not None
        return memory.telemetry.collector

    async def held(self) -> CaseSources:
        """What the store holds of all that was sent."""
        await self.collector.catch_up()
        return await load_sources(self.collector.index, acl=("public",), from_ns=0, to_ns=2**62)


async def _answer(response: ClientResponse) -> Answer:
    return Answer(response.status, response.content_type, response.headers, await response.read())


@asynccontextmanager
async def serving(folder: Path, **environ: str) -> AsyncIterator[Server]:
    quiet = {"RECEIPTS_EMBEDDING__MODEL": "", "RECEIPTS_SANDBOX__ENABLED": "false"}
    async with served(folder, whole=True, **{**quiet, **environ}) as here:
        yield Server(here)


def attributes(**found: object) -> list[dict[str, Any]]:
    return [{"key": k.replace("__", "."), "value": {"stringValue": str(v)}} for k, v in found.items()]


def a_span(trace: int, span: int = 1, **more: Any) -> dict[str, Any]:
    start = more.pop("start", START + trace * SECOND)
    took = more.pop("took_ms", 10)
    return {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{span:016x}",
        "name": "GET /pay",
        "kind": 2,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + took * 10**6),
        **more,
    }


def traces(*spans: dict[str, Any], service: str = "pay") -> dict[str, Any]:
    return {
        "resourceSpans": [
            {"resource": {"attributes": attributes(service__name=service)}, "scopeSpans": [{"spans": list(spans)}]}
        ]
    }


def logs(*records: dict[str, Any], service: str = "pay") -> dict[str, Any]:
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": attributes(service__name=service)},
                "scopeLogs": [{"logRecords": list(records)}],
            }
        ]
    }


def a_log(second: int, text: str, **more: Any) -> dict[str, Any]:
    return {"timeUnixNano": str(START + second * SECOND), "body": {"stringValue": text}, "severityNumber": 9, **more}


def metrics(*found: dict[str, Any], service: str = "pay") -> dict[str, Any]:
    return {
        "resourceMetrics": [
            {"resource": {"attributes": attributes(service__name=service)}, "scopeMetrics": [{"metrics": list(found)}]}
        ]
    }
