"""Recorded requests as a forest of spans with what happened inside each of them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from retrieval.context.topology import unique_spans
from retrieval.ingest.templates import Templates, mine
from retrieval.model import CaseSources, LogRecord, Span

Key = tuple[str, str]  # trace id, span id
_ERROR = 17


class Happening(Struct, frozen=True, order=True):
    """Something that can happen within a span: a log template, a call, a failure. `bad` marks errors."""

    kind: str  # log | call | failed
    what: str
    bad: bool = False


class Requests:
    """Spans by key, children by parent, and happenings by span.

    A log record belongs to its span, else to the first span of its service in its trace. Records that belong to no
    span are `loose`.
    """

    def __init__(self, sources: CaseSources) -> None:
        self.spans: dict[Key, Span] = {(s.trace_id, s.span_id): s for s in unique_spans(sources.spans)}
        self.children: dict[Key, list[Key]] = defaultdict(list)
        self.loose: list[LogRecord] = []
        self.templates: Templates = mine([log.body for log in sources.logs])
        self._inside: dict[Key, set[Happening]] = defaultdict(set)
        for key, span in self.spans.items():
            parent = (span.trace_id, span.parent_span_id)
            if parent in self.spans and parent != key:
                self.children[parent].append(key)
                self._inside[parent].add(Happening("call", f"{span.service} {span.name}"))
            if span.failed:
                self._inside[key].add(Happening("failed", span.exception.type if span.exception else "", True))
        self._place(sources.logs)

    def _place(self, logs: Iterable[LogRecord]) -> None:
        first: dict[Key, Key] = {}
        for key, span in self.spans.items():
            known = first.get((span.trace_id, span.service))
            if known is None or span.start_ns < self.spans[known].start_ns:
                first[span.trace_id, span.service] = key
        for log in logs:
            key = (log.trace_id, log.span_id)
            home = key if key in self.spans else first.get((log.trace_id, log.service))
            if home is None or not log.trace_id:
                self.loose.append(log)
                continue
            self._inside[home].add(Happening("log", self.templates.template_of(log.body), log.severity >= _ERROR))

    def inside(self, key: Key) -> set[Happening]:
        return self._inside.get(key, set())

    @cached_property
    def operations(self) -> Mapping[Key, list[Key]]:
        """Spans of each (service, name), by time."""
        found: dict[tuple[str, str], list[Key]] = defaultdict(list)
        for key, span in self.spans.items():
            found[span.service, span.name].append(key)
        for keys in found.values():
            keys.sort(key=lambda k: (self.spans[k].start_ns, k))
        return dict(sorted(found.items()))

    @cached_property
    def callees(self) -> Mapping[str, frozenset[str]]:
        """Per service, the services that it calls directly."""
        found: dict[str, set[str]] = defaultdict(set)
        for parent, kids in self.children.items():
            for kid in kids:
                if self.spans[kid].service != self.spans[parent].service:
                    found[self.spans[parent].service].add(self.spans[kid].service)
        return {service: frozenset(called) for service, called in sorted(found.items())}

    def below(self, service: str) -> frozenset[str]:
        """The services that it reaches by calls; those that reach it in turn are left out."""
        return frozenset(other for other in self._reached(service) if service not in self._reached(other))

    def _reached(self, service: str) -> frozenset[str]:
        seen: set[str] = set()
        todo = [service]
        while todo:
            for callee in self.callees.get(todo.pop(), ()):
                if callee not in seen:
                    seen.add(callee)
                    todo.append(callee)
        return frozenset(seen)
