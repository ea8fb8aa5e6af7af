"""What a trace looks like without its ids and times: who called whom, in one line. Pure."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from retrieval.ingest.templates import mask
from retrieval.model import Span

_LONGEST = 40  # steps of one skeleton; a trace of thousands of spans repeats itself


class Trace:
    """The spans of one trace as a forest. Missing parents make roots; a circle is entered at its earliest span."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = sorted(spans, key=lambda s: (s.start_ns, s.span_id))
        self.by_id = {span.span_id: span for span in reversed(self.spans)}
        self.children: dict[str, list[Span]] = defaultdict(list)
        for span in self.spans:
            self.children[span.parent_span_id].append(span)

    def preorder(self) -> list[Span]:
        """Every span once, callers before callees, siblings by service and name."""
        roots = [s for s in self.spans if s.parent_span_id not in self.by_id]
        seen: dict[int, Span] = {}
        for root in (*roots, *self.spans):
            stack = [root]
            while stack:
                span = stack.pop()
                if id(span) in seen:
                    continue
                seen[id(span)] = span
                below = self.children.get(span.span_id, ())
                stack.extend(sorted(below, key=lambda s: (s.service, s.name, s.start_ns, s.span_id), reverse=True))
        return list(seen.values())

    def skeleton(self) -> str:
        """`edge POST /pay > pay POST /charge > pay SELECT`, each step once, values masked."""
        steps = dict.fromkeys(f"{span.service} {_masked(span.name)}" for span in self.preorder())
        return " > ".join(list(steps)[:_LONGEST])

    def services(self) -> tuple[str, ...]:
        """The services on the way, entry first, each once."""
        return tuple(dict.fromkeys(span.service for span in self.preorder()))


@lru_cache(maxsize=16_384)
def _masked(name: str) -> str:
    return mask(name)


def traces_of(spans: Iterable[Span]) -> dict[str, Trace]:
    """Spans by trace, in the order of their first span."""
    found: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        found[span.trace_id].append(span)
    return {trace_id: Trace(members) for trace_id, members in found.items()}


def path_signature(services: Sequence[str]) -> str:
    """16 hexadecimal digits for a way through services: the key by which traces of one path find each other."""
    return hashlib.blake2b(" > ".join(services).encode("utf-8", "replace"), digest_size=8).hexdigest()
