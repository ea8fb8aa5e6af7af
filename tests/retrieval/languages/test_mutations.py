"""Ten thousand damaged traces: nothing raises or hangs, frames stay in bounds; what only decorates changes nothing."""

import random
from collections.abc import Callable, Iterator

import pytest

from retrieval.languages import LANGUAGES, parse_stack_traces
from retrieval.model import StackTrace
from retrieval.model.signatures import origins, stack_signature
from tests.contract.language import traces_of

MUTATED = 10_000
SEED = 20_261_201
MAX_CHARACTERS = 4_000

Mutation = Callable[[random.Random, list[str], list[str]], list[str]]


def captured() -> list[tuple[str, str]]:
    every = [(name, path.read_text("utf-8")) for name in sorted(LANGUAGES) for path in sorted(traces_of(name))]
    return [(name, text) for name, text in every if len(text) <= MAX_CHARACTERS]


def truncated(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    text = "\n".join(lines)
    return text[: rng.randrange(len(text) + 1)].split("\n")


def beheaded(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    return lines[rng.randrange(len(lines)) :]


def interleaved(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    mixed, left, right = [], list(lines), list(other)
    while left or right:
        source = left if left and (not right or rng.random() < 0.6) else right
        mixed.append(source.pop(0))
    return mixed


def doubled(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    return [line for line in lines for _ in range(rng.choice((1, 1, 1, 2, 5)))]


def missing(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    return [line for line in lines if rng.random() < 0.8]


def shuffled(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    mixed = list(lines)
    rng.shuffle(mixed)
    return mixed


def prefixed(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    prefix = rng.choice(("2026-11-30T22:50:45.123Z ", "web_1  | ", "<13>1 ", "[pod/a-1] ", '{"log":"', "\t\t"))
    return [prefix + line if rng.random() < 0.95 else line for line in lines]


def coloured(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    return [f"\x1b[{rng.randrange(30, 38)}m{line}\x1b[0m" if rng.random() < 0.5 else line for line in lines]


def with_returns(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    return [line + rng.choice(("\r", "\r\r", "")) for line in lines]


def with_a_long_line(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    at = rng.randrange(len(lines))
    piece = rng.choice(("a.", "(", "$", 'File "', " at ", "\\n", "a::", "| ", "E   "))
    return [*lines[:at], lines[at] + piece * rng.randrange(1, 1_500), *lines[at:]]


def nested(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    link = rng.choice(("Caused by: a.B: c", "\tSuppressed: a.B: c",
                       "  + Exception Group Traceback (most recent call last):",
                       "During handling of the above exception, another exception occurred:"))  # fmt: skip
    return [part for _ in range(rng.randrange(1, 12)) for part in (*lines[:12], link)]


def flipped(rng: random.Random, lines: list[str], other: list[str]) -> list[str]:
    text = list("\n".join(lines) or " ")
    for _ in range(rng.randrange(1, 30)):
        text[rng.randrange(len(text))] = chr(rng.choice((0, 9, 10, 32, 34, 40, 58, 0x2028, 0xD800, 0x1F600)))
    return "".join(text).split("\n")


MUTATIONS: tuple[Mutation, ...] = (
    truncated, beheaded, interleaved, doubled, missing, shuffled, prefixed, coloured, with_returns, with_a_long_line,
    nested, flipped,
)  # fmt: skip


def chain(trace: StackTrace) -> Iterator[StackTrace]:
    below = [*([trace.cause] if trace.cause else []), *trace.members]
    yield trace
    for one in below:
        yield from chain(one)


@pytest.mark.parametrize("part", range(4))
def test_ten_thousand_mutated_traces_neither_raise_nor_lose_the_bounds(part: int) -> None:
    rng = random.Random(SEED + part)
    texts = captured()
    read = 0
    for number in range(MUTATED // 4):
        language, text = texts[number % len(texts)]
        lines, other = text.split("\n"), rng.choice(texts)[1].split("\n")
        for mutation in rng.sample(MUTATIONS, rng.choice((1, 1, 2, 3))):
            lines = mutation(rng, lines or [""], other)
        damaged = "\n".join(lines)
        found = [one for trace in LANGUAGES[language].parse(damaged) for one in chain(trace)]
        read += bool(found)
        assert sum(len(trace.frames) for trace in found) <= 100_000 + len(lines)
        assert all(frame.line is None or frame.line >= 0 for trace in found for frame in trace.frames)
    assert read > MUTATED // 4 // 2  # damage that leaves nothing to read would prove nothing


DECORATIONS: dict[str, Callable[[str], str]] = {
    "colours": lambda line: f"\x1b[31m{line}\x1b[0m",
    "carriage returns": lambda line: line + "\r",
}


@pytest.mark.parametrize("decoration", sorted(DECORATIONS))
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_what_only_decorates_a_trace_changes_nothing(language: str, decoration: str) -> None:
    for path in traces_of(language):
        text = path.read_text("utf-8")
        changed = "\n".join(DECORATIONS[decoration](line) for line in text.split("\n"))
        assert told(LANGUAGES[language].parse(changed)) == told(LANGUAGES[language].parse(text)), path.name


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_trace_that_is_cut_off_keeps_the_frames_before_the_cut(language: str) -> None:
    whole = max((p.read_text("utf-8") for p in traces_of(language)), key=len)
    lines = whole.split("\n")
    full = sum(len(t.frames) for top in LANGUAGES[language].parse(whole) for t in chain(top))
    half = sum(
        len(t.frames) for top in LANGUAGES[language].parse("\n".join(lines[: len(lines) // 2])) for t in chain(top)
    )
    assert 0 < half <= full


@pytest.mark.parametrize(
    "piece",
    ["\tat a.b.C.d(C.java:1)\n", "Caused by: a.B: c\n", '  File "a.py", line 1, in f\n', "a.b.c.", "E   x\n>  y\n",
     "goroutine 1 [running]:\n", "  | + Exception Group Traceback (most recent call last):\n", "(" * 50,
     "    at f (a.js:1:1)\n", "\\n\\tat a.b(", "#0 /a.php(1): f()\n", "a.rb:1:in `f'\n", "\x1b[",
     "   0: a::b\n             at a.rs:1:1\n"],
)  # fmt: skip
def test_one_piece_thousands_of_times_is_read_at_once(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    assert all(len(list(chain(trace))) < 100 for trace in parse_stack_traces(text))


def told(traces: list[StackTrace]) -> list[tuple[object, ...]]:
    return [
        (t.type, t.message, len(t.frames), stack_signature(t), [o.type for o in origins(t)])
        for top in traces
        for t in chain(top)
    ]
