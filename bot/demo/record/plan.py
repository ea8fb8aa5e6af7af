"""Who visits the shop when. Pure: the same plan every time. Times are nanoseconds of the incident's own time."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct, field

SECOND = 1_000_000_000
MINUTE = 60 * SECOND


def at(text: str) -> int:
    """Nanoseconds of a time of the incident's day, `HH:MM:SS` in UTC."""
    moment = datetime.fromisoformat(f"2026-11-24T{text}").replace(tzinfo=UTC)
    return int(moment.timestamp()) * SECOND


STARTS, ENDS = at("13:28:00"), at("14:06:00")
STOREFRONT_DEPLOY, FLAG_SWITCH, CANARY_DEPLOY, ALERT = at("13:40:10"), at("13:51:30"), at("13:55:00"), at("14:02:10")
_SEED = 20261132
_VISIT_EVERY_S = 11.0
_BOT_EVERY = 7 * MINUTE
_PRODUCTS = ("mug", "tote", "atlas", "blanket", "pencils", "herbarium")
# Code -> weight. The November campaigns were in that morning's newsletter.
_COUPONS = {
    "NOVEMBER12": 10,
    "FRIENDS500": 4,
    "WELCOME10": 4,
    "READER5": 3,
    "CREW25": 1,
    "SUMMER15": 1,
    "NOVEMBER21": 1,
}
_COUNTRIES = {"DE": 5, "AT": 2, "FR": 3, "ES": 2}


class Step(Struct, frozen=True, order=True):
    """One request of one visitor. `{cart}` in the path is the cart that the visitor was given; a step that failed with
    500 is tried once more by people, after `patience_ns`."""

    at_ns: int
    visit: int
    method: str
    path: str
    body: dict[str, object] = field(default_factory=dict)
    patience_ns: int = 0


def visits() -> list[Step]:
    """All requests, oldest first."""
    chance = random.Random(_SEED)
    steps: list[Step] = []
    at_ns, visit = STARTS, 0
    while True:
        at_ns += int(chance.expovariate(1 / _VISIT_EVERY_S) * SECOND)
        if at_ns >= ENDS:
            break
        visit += 1
        steps += [step for step in _visit(chance, visit, at_ns) if step.at_ns < ENDS]
    # A crawler that does not understand the page number it was given, all day long.
    steps += [Step(moment, -1, "GET", "/products?page=NaN") for moment in range(STARTS + MINUTE, ENDS, _BOT_EVERY)]
    return sorted(steps, key=lambda step: (step.at_ns, step.visit, step.path))


def _visit(chance: random.Random, visit: int, at_ns: int) -> Iterator[Step]:
    """Look around, mostly fill a cart, mostly with a coupon, and print the receipt."""

    def later(seconds: float) -> int:
        nonlocal at_ns
        at_ns += int(chance.uniform(0.4, 1.6) * seconds * SECOND)
        return at_ns

    yield Step(at_ns, visit, "GET", chance.choice(("/products", "/products?sort=price", "/products?page=2")))
    sku = chance.choice(_PRODUCTS) if chance.random() < 0.97 else "spoon"
    yield Step(later(9), visit, "GET", f"/products/{sku}")
    if sku == "spoon" or chance.random() < 0.3:
        return
    yield Step(later(6), visit, "POST", "/cart", {"country": _pick(chance, _COUNTRIES)})
    for wanted in {sku: 1, **({chance.choice(_PRODUCTS): 1} if chance.random() < 0.3 else {})}:
        quantity = chance.choice((1, 1, 1, 2, 3))
        yield Step(later(4), visit, "POST", "/cart/{cart}/items", {"sku": wanted, "quantity": quantity})
    if chance.random() < 0.9:
        patience = int(chance.uniform(3, 9) * SECOND)
        yield Step(later(12), visit, "POST", "/cart/{cart}/coupon", {"code": _pick(chance, _COUPONS)}, patience)
    if chance.random() < 0.85:
        yield Step(later(8), visit, "GET", "/cart/{cart}/receipt")


def _pick(chance: random.Random, weights: dict[str, int]) -> str:
    return chance.choices(list(weights), weights=list(weights.values()))[0]
