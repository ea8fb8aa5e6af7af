"""Bodies that nobody should send, to a real server over loopback, on every endpoint that takes one.

No answer may be a 5xx other than 503 with `Retry-After`, every 4xx says why, memory stays bounded, and at the end the
server is alive and works off what it took. `python -m tests.benchmarks fuzz --bodies 100000`.
"""

import asyncio
import gzip
import json
import random
import sqlite3
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import aiohttp

from bot.demo.workspace.people import signed
from tests.acceptance import processes

CAPTURED = Path(__file__).parents[1] / "captured"
TOKEN = "fuzz-token"
WORKERS = 8
PEAK_MB = 1024.0  # four OTLP bodies of 64 MiB at once are allowed for, and the program itself
SETTLE_S = 120.0
TYPES = (
    "application/json", "application/x-protobuf", "application/x-www-form-urlencoded", "text/plain", "",
    "a/b; charset=\xff", "multipart/form-data; boundary=x",
)  # fmt: skip
WORDS = (
    b'"', b"{", b"[" * 5_000, b"\x00", b"\xff\xfe", b"null", b"1e999", b"-1", b'{"a":' * 2_000, b"\\ud800", b"9" * 400,
    b"<!channel>", b"{{7*7}}", "\u202e".encode(), b"../../etc/passwd",
)  # fmt: skip
VALUES = (
    None,
    True,
    -1,
    2**63,
    1e308,
    "",
    "x" * 3_000,
    [],
    {},
    [[]],
    {"": None},
    "\ud800",
    "9999-99-99T99:99:99Z",
    [1, "a"],
)


@dataclass
class Report:
    sent: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    peak_mb: float = 0.0
    early_mb: float = 0.0
    seconds: float = 0.0
    left: int = -1
    marked: bool = False

    @property
    def good(self) -> bool:
        return not self.faults and self.peak_mb <= PEAK_MB and self.left == 0 and self.marked


def seeds() -> dict[str, list[bytes]]:
    """Captured bodies by the part of the path that takes them."""
    found = {}
    for folder, part in (("alertmanager", "alertmanager"), ("generic", "generic"), ("otlp", "v1")):
        paths = sorted((CAPTURED / folder).iterdir())
        found[part] = [path.read_bytes() for path in paths if path.stat().st_size < 100_000]
    command = b"command=%2Ftriage&text=status&user_id=U1&channel_id=C1&team_id=T1&response_url="
    event = {"type": "event_callback", "event_id": "E1", "event": {"type": "app_mention", "text": "<@U0> status"}}
    action = {
        "type": "block_actions",
        "user": {"id": "U1"},
        "actions": [{"action_id": "receipts_rerun", "value": "inc-1"}],
    }
    found["slack"] = [command, json.dumps(event).encode(), b"payload=" + quote(json.dumps(action)).encode()]
    return found


def mutated(rng: random.Random, body: bytes) -> bytes:
    """A body with something wrong: in its structure where it is JSON, else in its bytes."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(2_000))
    if rng.random() < 0.6:
        try:
            value = json.loads(body)
        except ValueError:
            pass
        else:
            return json.dumps(_value(rng, value)).encode()
    found = bytearray(body)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(found) + 1)
        match rng.randrange(4):
            case 0:
                found[at : at + rng.randrange(20)] = rng.randbytes(rng.randrange(20))
            case 1:
                found[at:at] = rng.choice(WORDS)
            case 2:
                del found[at:]
            case _:
                found[at:at] = found[: rng.randrange(200)]
    return bytes(found)


def _value(rng: random.Random, value: object, chance: float = 0.06) -> object:
    if rng.random() < chance:
        return rng.choice(VALUES)
    if isinstance(value, dict):
        return {k: _value(rng, v, chance) for k, v in value.items() if rng.random() > 0.03}
    if isinstance(value, list):
        return [_value(rng, v, chance) for v in value] * rng.choice((1, 1, 1, 1, 0, 3))
    return value


def dressed(rng: random.Random, path: str, body: bytes) -> tuple[bytes, dict[str, str]]:
    """The body as it is sent, with headers that are right, wrong or missing."""
    headers = {"Content-Type": rng.choice(TYPES[:3] if rng.random() < 0.7 else TYPES)}
    match rng.randrange(12):
        case 0:
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        case 1:
            body, headers["Content-Encoding"] = zlib.compress(body), "deflate"
        case 2:
            body, headers["Content-Encoding"] = gzip.compress(body)[: rng.randrange(40)], "gzip"
        case 3:
            headers["Content-Encoding"] = rng.choice(("gzip", "br", "deflate", "\xff"))
        case _:
            pass
    if rng.random() < 0.001:
        body, headers["Content-Encoding"] = gzip.compress(bytes(80 * 2**20), 1), "gzip"
    if path == "/slack/events":
        headers |= signed(body, at=time.time() - rng.choice((0, 0, 0, 0, 4_000)))
        if rng.random() < 0.1:
            headers["X-Slack-Signature"] = rng.choice(("", "v0=0", "\xff"))
    elif rng.random() < 0.95:
        headers["Authorization"] = f"Bearer {TOKEN}"
    return body, headers


async def paths_of(session: aiohttp.ClientSession, url: str) -> list[str]:
    """Every path that takes a body, as the server describes itself."""
    async with session.get(f"{url}/openapi.json") as answer:
        document = await answer.json()
    found = []
    for path, methods in sorted(document["paths"].items()):
        if any("requestBody" in operation for operation in methods.values()):
            named = ("alertmanager", "generic", "nobody") if "{source}" in path else ("x",)
            found += [path.replace("{source}", n) if "{" in path else path for n in (named if "{" in path else ("",))]
    return found


class Fuzz:
    def __init__(self, url: str, seed: int) -> None:
        self.url = url
        self.rng = random.Random(seed)
        self.report = Report()
        self.seeds = seeds()

    async def one(self, session: aiohttp.ClientSession, path: str) -> None:
        rng = self.rng
        body, headers = dressed(rng, path, mutated(rng, rng.choice(self._near(path))))
        self.report.sent += 1
        if rng.random() < 0.02:
            await self._cut_off(path, body)
            return
        data = _pieces(body) if rng.random() < 0.1 else body
        try:
            async with session.post(self.url + path, data=data, headers=headers) as answer:
                text = await answer.read()
                self._judge(path, answer.status, answer.headers.get("Retry-After", ""), text, body)
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
            self.report.statuses[f"{path} connection"] += 1  # refused while it was still being sent

    def _near(self, path: str) -> list[bytes]:
        """Mostly what the endpoint is for, else what another one is for."""
        part = next((name for name in self.seeds if name in path), "alertmanager")
        return self.seeds[part if self.rng.random() < 0.8 else self.rng.choice(sorted(self.seeds))]

    def _judge(self, path: str, status: int, retry: str, text: bytes, body: bytes) -> None:
        self.report.statuses[f"{path} {status}"] += 1
        unsaid = status >= 400 and not text.strip()
        if (status >= 500 and not (status == 503 and retry)) or unsaid:
            self.report.faults.append(f"{path} {status} {text[:120]!r} to {body[:200]!r}")

    async def _cut_off(self, path: str, body: bytes) -> None:
        """A client that goes away, or speaks no HTTP, in the middle."""
        parts = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        head += f"Content-Length: {len(body) + 9}\r\n\r\n"
        broken = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
        writer.write(self.rng.choice((head, broken)).encode() + body[:1000])
        await writer.drain()
        writer.close()
        try:
            async with asyncio.timeout(5):
                first = await reader.readline()
        except (TimeoutError, ConnectionError):
            first = b""
        self.report.statuses[f"{path} cut off"] += 1
        if first.split(b" ")[1:2] and first.split(b" ")[1].startswith(b"5"):
            self.report.faults.append(f"{path} {first!r} to a body that was cut off")


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """Sent chunked."""
    for at in range(0, len(body), 997):
        yield body[at : at + 997]


async def fuzz(bodies: int, folder: Path, *, seed: int = 7) -> Report:
    """Send so many bodies to a server in a process of its own and watch it."""
    environ = {"RECEIPTS_ALERTS__TOKENS": json.dumps([TOKEN]), "RECEIPTS_EMBEDDING__MODEL": "",
               "RECEIPTS_SANDBOX__ENABLED": "false"}  # fmt: skip
    async with processes.slack(folder / "slack.json") as slack:  # noqa: SIM117
        async with processes.bot(folder / "data", 0, {**environ, **slack.settings()}) as server:
            run = Fuzz(await server.ready(), seed)
            started = time.monotonic()
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
                paths = await paths_of(session, run.url)
                turns = iter(range(bodies))

                async def worker() -> None:
                    for turn in turns:
                        await run.one(session, paths[turn % len(paths)])
                        if turn == bodies // 10:
                            run.report.early_mb = server.peak_mb()

                await asyncio.gather(*(worker() for _ in range(WORKERS)))
                run.report.seconds = time.monotonic() - started
                await _finish(run, session, folder / "data" / "state.db")
            run.report.peak_mb = server.peak_mb()
    return run.report


async def _finish(run: Fuzz, session: aiohttp.ClientSession, state: Path) -> None:
    """One good alert more; all that was taken is worked off."""
    body = {"alerts": [{"status": "firing", "labels": {"alertname": "FuzzMarker"}, "fingerprint": "marker"}]}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with session.post(f"{run.url}/alerts/alertmanager", json=body, headers=headers) as answer:
        run._judge("/alerts/alertmanager", answer.status, "", await answer.read(), b"marker")
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end and not (run.report.left == 0 and run.report.marked):
        await asyncio.sleep(0.2)
        run.report.left, run.report.marked = await asyncio.to_thread(_worked_off, state)
    async with session.get(f"{run.url}/readyz") as answer:
        if answer.status != 200:
            run.report.faults.append(f"/readyz {answer.status} at the end")


def _worked_off(state: Path) -> tuple[int, bool]:
    with sqlite3.connect(f"file:{state}?mode=ro", uri=True, timeout=10) as db:
        left = db.execute("SELECT count(*) FROM deliveries WHERE state = 'received'").fetchone()[0]
        marker = db.execute("SELECT 1 FROM episodes WHERE alert LIKE '%FuzzMarker%'").fetchone()
    db.close()
    return int(left), marker is not None


def run(bodies: int = 100_000) -> bool:
    with tempfile.TemporaryDirectory(prefix="receipts-fuzz-") as folder:
        report = asyncio.run(fuzz(bodies, Path(folder)))
    for status, count in sorted(report.statuses.items()):
        print(f"{count:8} {status}")
    print(f"{report.sent} bodies in {report.seconds:.0f} s; faults: {len(report.faults)} (goal 0)")
    print(f"peak memory {report.peak_mb:.0f} MiB (goal <= {PEAK_MB:.0f}), {report.early_mb:.0f} after a tenth")
    print(f"{report.left} deliveries left (goal 0); the last alert was worked off: {report.marked}")
    for fault in report.faults[:20]:
        print(fault)
    return report.good
