"""Occurrences of errors, put together: what is one error in one service, and what is one event of it."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from retrieval.context.occurrences import FilesOf, Occurrence, occurrences
from retrieval.model import CaseSources
from retrieval.model.proof import ErrorSignature
from retrieval.model.signatures import normalise_message, origins, same_error, short_type

_SAME_EVENT_NS = 1_000_000_000  # records of one event from two recorders without a shared trace id
_ALIKE = 0.6


Causes = tuple[str, ...]


class _Sibling(Struct):
    message: str
    causes: Causes
    bucket: list[Occurrence]


class ErrorGroup(Struct, frozen=True, kw_only=True):
    """One error of one service: all its records, and the times at which it happened (several records of one request,
    or of one moment in different files, are one)."""

    service: str
    records: tuple[Occurrence, ...]  # by time
    times_ns: tuple[int, ...]

    @property
    def typed(self) -> bool:
        return any(record.named for record in self.records)

    @property
    def trace_ids(self) -> frozenset[str]:
        return frozenset(record.trace_id for record in self.records if record.trace_id)


def group_errors(sources: CaseSources, files_of: FilesOf) -> tuple[ErrorGroup, ...]:
    """Groups of one service, exception type and message without its values, raised at one place.

    Messages that differ in words that are values all the same (`account gala`, `account acme`) are one error if most
    words agree and the place is the same; so are messages of one place that follow each other in time, because a deploy
    may reword them. A record without a stack joins the error of its trace, else that of its
    type and message; a text without a type, or a bare status code, joins the error of its trace.
    """
    by_service: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences(sources, files_of):
        by_service[occurrence.service].append(occurrence)
    groups = [group for service in sorted(by_service) for group in _of_service(service, by_service[service])]
    return tuple(groups)


def _of_service(service: str, found: list[Occurrence]) -> list[ErrorGroup]:
    found.sort(key=lambda o: (o.time_ns, o.source, o.type, o.message))
    buckets = _placed([o for o in found if o.named and o.places])
    _join_typed(buckets, [o for o in found if o.named and not o.places])
    _join_texts(buckets, [o for o in found if not o.named])
    return [
        ErrorGroup(
            service=service,
            records=tuple(sorted(bucket, key=lambda o: (o.time_ns, o.source))),
            times_ns=tuple(_events(bucket)),
        )
        for bucket in buckets
    ]


def _placed(found: list[Occurrence]) -> list[list[Occurrence]]:
    """Buckets of records with a stack: equal ones first, then those that are alike. Errors that were wrapped are one
    only if what they wrap is; a recorder that leaves causes out may have seen either."""
    equal: dict[tuple[str, str, str, Causes], list[Occurrence]] = defaultdict(list)
    for occurrence in found:
        place = occurrence.places[-1].id
        message = normalise_message(occurrence.message)
        equal[short_type(occurrence.type), place, message, causes_of(occurrence)].append(occurrence)
    merged: dict[tuple[str, str], list[_Sibling]] = defaultdict(list)
    for (kind, place, message, causes), bucket in sorted(equal.items(), key=lambda item: (-len(item[1]), item[0])):
        siblings = merged[kind, place]
        home = next((s for s in siblings if _alike(s.message, message) and _same_causes(s.causes, causes)), None)
        if home is None:
            siblings.append(_Sibling(message, causes, bucket))
        else:
            home.bucket.extend(bucket)
            home.causes = home.causes or causes
    return [bucket for key in sorted(merged) for bucket in _by_cause(merged[key])]


def causes_of(occurrence: Occurrence) -> Causes:
    """The types at the bottom of its cause chain; () where nothing was wrapped."""
    if occurrence.trace is None:
        return ()
    kinds = tuple(sorted({short_type(origin.type) for origin in origins(occurrence.trace)}))
    return () if kinds == (short_type(occurrence.trace.type),) else kinds


def _same_causes(one: Causes, other: Causes) -> bool:
    return one == other or not one or not other


def _by_cause(siblings: list[_Sibling]) -> list[list[Occurrence]]:
    by_cause: dict[Causes, list[list[Occurrence]]] = defaultdict(list)
    for sibling in siblings:
        by_cause[sibling.causes].append(sibling.bucket)
    return [bucket for causes in sorted(by_cause) for bucket in _reworded(by_cause[causes])]


def _reworded(siblings: list[list[Occurrence]]) -> list[list[Occurrence]]:
    """One type at one place whose message ends to come when another begins is one error with a new wording."""
    siblings.sort(key=lambda bucket: (min(o.time_ns for o in bucket), bucket[0].message))
    joined: list[list[Occurrence]] = []
    for bucket in siblings:
        begins = min(o.time_ns for o in bucket)
        if joined and max(o.time_ns for o in joined[-1]) < begins:
            joined[-1] = [*joined[-1], *bucket]
        else:
            joined.append(bucket)
    return joined


def _alike(one: str, other: str) -> bool:
    """Same number of words, most of them equal at their place (as in Drain, He et al. 2017)."""
    left, right = one.split(), other.split()
    if len(left) != len(right) or not left:
        return one == other
    return sum(a == b for a, b in zip(left, right, strict=True)) / len(left) >= _ALIKE


def _join_typed(buckets: list[list[Occurrence]], loose: list[Occurrence]) -> None:
    """Records with a type but no stack: into the bucket of their type and request, else of their type and message."""
    by_trace = _by_trace(buckets)
    by_type: dict[str, list[int]] = defaultdict(list)
    for index, bucket in enumerate(buckets):
        by_type[short_type(bucket[0].type)].append(index)
    same: dict[tuple[str, str], list[int]] = {}
    fresh: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
    sizes = [len(bucket) for bucket in buckets]
    for occurrence in loose:
        kind, message = short_type(occurrence.type), normalise_message(occurrence.message)
        homes = [n for n in by_trace.get(occurrence.trace_id, ()) if n in by_type[kind]]
        if not homes:
            if (kind, message) not in same:
                same[kind, message] = [n for n in by_type[kind] if _same_error(buckets[n][0], occurrence)]
            homes = same[kind, message]
        if homes:
            buckets[max(homes, key=lambda n: (sizes[n], -n))].append(occurrence)
        else:
            fresh[kind, message].append(occurrence)
    buckets.extend(fresh[key] for key in sorted(fresh))


def _join_texts(buckets: list[list[Occurrence]], loose: list[Occurrence]) -> None:
    """Records that are text only: into the bucket of their request, the fullest of several, else by their template."""
    by_trace = _by_trace(buckets)
    sizes = [len(bucket) for bucket in buckets]
    fresh: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
    for occurrence in loose:
        homes = by_trace.get(occurrence.trace_id, ())
        if homes:
            buckets[max(homes, key=lambda n: (sizes[n], -n))].append(occurrence)
        else:
            fresh[occurrence.type, normalise_message(occurrence.message)].append(occurrence)
    buckets.extend(fresh[key] for key in sorted(fresh))


def _by_trace(buckets: list[list[Occurrence]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, dict[int, None]] = defaultdict(dict)
    for index, bucket in enumerate(buckets):
        for occurrence in bucket:
            if occurrence.trace_id:
                found[occurrence.trace_id][index] = None
    return {trace_id: tuple(indices) for trace_id, indices in found.items()}


def _same_error(one: Occurrence, other: Occurrence) -> bool:
    return same_error(ErrorSignature(one.type, one.message), ErrorSignature(other.type, other.message))


def _events(bucket: Iterable[Occurrence]) -> list[int]:
    """The times of distinct events, ascending: one a trace; a record without a trace joins the nearest event that was
    not told by its own file."""
    ordered = sorted(bucket, key=lambda o: (o.time_ns, o.source))
    events: list[tuple[int, set[str]]] = []
    by_trace: dict[str, set[str]] = {}
    for occurrence in ordered:
        if not occurrence.trace_id:
            continue
        if occurrence.trace_id not in by_trace:
            by_trace[occurrence.trace_id] = set()
            events.append((occurrence.time_ns, by_trace[occurrence.trace_id]))
        by_trace[occurrence.trace_id].add(occurrence.source)
    for occurrence in ordered:
        if not occurrence.trace_id:
            _tell(events, occurrence)
    return [time for time, _ in events]


def _tell(events: list[tuple[int, set[str]]], occurrence: Occurrence) -> None:
    at, source = occurrence.time_ns, occurrence.source
    low = bisect_left(events, at - _SAME_EVENT_NS, key=lambda event: event[0])
    high = bisect_right(events, at + _SAME_EVENT_NS, key=lambda event: event[0])
    near = [event for event in events[low:high] if source not in event[1]]
    if near:
        min(near, key=lambda event: abs(event[0] - at))[1].add(source)
    else:
        insort(events, (at, {source}), key=lambda event: event[0])
