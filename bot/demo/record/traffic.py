"""The plan carried out, one request after the other, as fast as the shop answers."""

import heapq
import time
from collections.abc import Awaitable, Callable, Iterable

import aiohttp
from msgspec import Struct, structs

from bot.demo.record.plan import Step


class Sent(Struct, frozen=True, kw_only=True):
    """One request that was made: when in the incident's time, when really, and under which trace."""

    at_ns: int
    really_ns: int
    trace_id: str
    status: int


async def drive(
    steps: Iterable[Step],
    *,
    storefront: Callable[[], str],
    moments: Iterable[tuple[int, Callable[[], Awaitable[None]]]],
) -> list[Sent]:
    """Make all requests in the order of their planned times, each to the `storefront` of that moment. Each of `moments`
    is awaited before the first request that is planned after it: a rollout happens between two requests."""
    waiting = list(steps)
    heapq.heapify(waiting)
    happening = sorted(moments, key=lambda moment: moment[0])
    carts: dict[int, str] = {}
    sent: list[Sent] = []
    async with aiohttp.ClientSession() as session:
        while waiting:
            step = heapq.heappop(waiting)
            while happening and happening[0][0] <= step.at_ns:
                await happening.pop(0)[1]()
            if "{cart}" in step.path and step.visit not in carts:
                continue
            one, cart = await _send(session, storefront(), step, carts.get(step.visit, ""))
            sent.append(one)
            if step.path == "/cart" and cart:
                carts[step.visit] = cart
            if one.status >= 500 and step.patience_ns:
                heapq.heappush(waiting, structs.replace(step, at_ns=step.at_ns + step.patience_ns, patience_ns=0))
    return sent


async def _send(session: aiohttp.ClientSession, base: str, step: Step, cart: str) -> tuple[Sent, str]:
    really_ns = time.time_ns()
    body = step.body if step.method == "POST" else None
    async with session.request(step.method, base + step.path.replace("{cart}", cart), json=body) as answer:
        told = await answer.json(content_type=None) if answer.content_type == "application/json" else {}
        sent = Sent(
            at_ns=step.at_ns,
            really_ns=really_ns,
            trace_id=answer.headers.get("X-Trace-Id", ""),
            status=answer.status,
        )
    return sent, str(told.get("id", ""))
