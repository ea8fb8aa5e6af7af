"""From the failures of a crash group to candidate tests, and to what has to be asked for (pure)."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bundles.harness.answers import argument_answers, with_answers
from bundles.harness.base import Candidate, Candidates, Missing
from bundles.harness.downstream import Downstream, downstream_of
from bundles.harness.occurrences import Occurrence, occurrences, short_type
from bundles.harness.python import missing as ask
from bundles.harness.python.apps import App, find_apps
from bundles.harness.python.bodies import body_of, logged_body, reads_body, reads_query, uses_clock
from bundles.harness.python.calls import Call, Located, Unresolved, calls_of, stack_of
from bundles.harness.python.formats import templates_of
from bundles.harness.python.objects import ASSEMBLED
from bundles.harness.python.pool import Pool, PoolMaker
from bundles.harness.python.render import Surroundings, Written, call_test, http_test
from bundles.harness.python.source import Source
from bundles.harness.python.volume import Volume, volume_of
from bundles.harness.replay import earlier_requests, untraced_peers
from bundles.harness.requests import BODY_METHODS, Request, request_of
from bundles.harness.settings import Settings, settings_at
from retrieval.model import Case, CrashGroup, RecoveredInput

MAX_HTTP = 8
MAX_CALLS = 16
_SAME_SHAPE = 2
_SAME_FUNCTION = 4


class _Failure(Struct, frozen=True, kw_only=True):
    """One occurrence with what was recovered from it."""

    occurrence: Occurrence
    settings: Settings
    stack: list[Located]
    request: Request | None
    downstream: Downstream
    calls: list[Call]
    unresolved: list[Unresolved]


class Recovery:
    """Works one crash group through."""

    def __init__(self, case: Case, crash: CrashGroup, source: Source) -> None:
        self._case, self._crash, self._source = case, crash, source
        info = case.sources.services.get(crash.service)
        self._prefix = (info.path_prefix.strip("/") + "/") if info and info.path_prefix.strip("/") else ""
        self._apps = find_apps(source, self._prefix)
        self._logged, self._raised = templates_of(source, errors=False), templates_of(source, errors=True)
        self._failures = [self._failure(o) for o in occurrences(case, crash)]

    def candidates(self) -> Candidates:
        """Requests first, then calls; each test once."""
        items = {c.files[c.test]: c for c in reversed([*self._http(), *self._calls()])}
        return Candidates(items=tuple(reversed(items.values())), missing=tuple(dict.fromkeys(self._missing())))

    def _failure(self, occurrence: Occurrence) -> _Failure:
        settings = settings_at(self._case, self._crash.service, occurrence.time_ns, self._source.strings)
        maker = PoolMaker(self._source, self._logged, self._raised, settings.values)
        pool = maker.pool(occurrence, argument_answers(self._case))
        stack, _ = stack_of(occurrence, self._crash, self._source)
        calls, unresolved = calls_of(occurrence, self._crash, self._source, pool)
        return _Failure(
            occurrence=occurrence,
            settings=settings,
            stack=stack,
            request=self._request(occurrence, stack, pool),
            downstream=downstream_of(occurrence, self._crash.service),
            calls=calls,
            unresolved=unresolved,
        )

    def _request(self, occurrence: Occurrence, stack: list[Located], pool: Pool) -> Request | None:
        peers = () if occurrence.trace_id else untraced_peers(self._case, self._crash.service, occurrence.time_ns)
        request = request_of(occurrence, self._crash.service, peers)
        request, answer = with_answers(request, self._case, self._crash.service)
        if request is not None and answer:
            request = replace(request, citations=(*request.citations, answer))
        if request is None or request.body is not None or request.method not in BODY_METHODS:
            return request
        body = body_of(occurrence, stack, self._source)
        if body is None and not request.empty and reads_body(stack, self._source):
            body = logged_body(pool, stack, self._source)
        if body is None:
            return request
        headers = dict(request.headers)
        if body.form:
            headers.setdefault("content-type", "application/x-www-form-urlencoded")
        cited = tuple(dict.fromkeys((*request.citations, *([body.source] if body.source else []))))
        return replace(request, body=body.value, headers=headers, citations=cited)

    def _http(self) -> list[Candidate]:
        out: list[Candidate] = []
        shapes: dict[tuple[Any, ...], int] = {}
        seen: set[str] = set()
        for failure in self._failures:
            request = failure.request
            if request is None or not self._complete(failure, request) or not self._apps:
                continue
            identity = f"{request.line} {request.body!r} {request.headers}"
            if identity in seen or shapes.get(request.shape, 0) >= _SAME_SHAPE or len(out) >= MAX_HTTP:
                continue
            seen.add(identity)
            shapes[request.shape] = shapes.get(request.shape, 0) + 1
            out += self._variants(failure, request, first=len(seen) == 1)
        return out[:MAX_HTTP]

    def _variants(self, failure: _Failure, request: Request, first: bool) -> list[Candidate]:
        """The request alone; at the moment of the failure where the code reads the clock; after the earlier requests
        that changed something; on a second application object."""
        out = []
        app = self._apps[0]
        for clock in self._clocks(failure):
            out.append(self._http_candidate(failure, request, app, clock))
        if first:
            earlier = earlier_requests(self._case, self._crash.service, failure.occurrence.time_ns)
            if earlier:
                out.append(self._http_candidate(failure, request, app, None, earlier))
            out += [self._http_candidate(failure, request, other, None) for other in self._apps[1:2]]
        return out

    def _clocks(self, failure: _Failure) -> list[int | None]:
        return [failure.occurrence.time_ns, None] if uses_clock(failure.stack, self._source) else [None]

    def _http_candidate(
        self, failure: _Failure, request: Request, app: App, clock_ns: int | None, earlier: tuple[Request, ...] = ()
    ) -> Candidate:
        around = self._around(failure, app.root, clock_ns)
        around = replace(
            around, csrf=bool(app.django) and "django.middleware.csrf.CsrfViewMiddleware" in self._source.strings
        )
        written = http_test(request, app, around, earlier)
        http = {
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "headers": request.headers,
            "body": request.body,
        }
        if earlier:
            http["earlier"] = [r.line for r in earlier]
        cited = (*request.citations, *(c for r in earlier for c in r.citations))
        return self._candidate(failure, written, "http", request.line, cited, http)

    def _calls(self) -> list[Candidate]:
        """In rounds: of each function the most directly recorded call, then the next one. Functions whose arguments
        were recorded come before those whose were pieced together, then outer before inner: an outer one repeats more
        of what production did."""
        by_function: dict[str, list[tuple[int, int, Call, _Failure]]] = {}
        seen: set[str] = set()
        for order, failure in enumerate(self._failures):
            for call in failure.calls:
                if call.expression not in seen:
                    seen.add(call.expression)
                    by_function.setdefault(call.function.qualname, []).append((call.rank, order, call, failure))
        for rows in by_function.values():
            rows.sort(key=lambda row: row[:2])
        queues = sorted(by_function.values(), key=lambda rows: (_directness(rows[0][0]), rows[0][2].depth))
        chosen = [q[turn] for turn in range(_SAME_FUNCTION) for q in queues if turn < len(q)]
        out: list[Candidate] = []
        for _, _, call, failure in chosen[:MAX_CALLS]:
            root = self._source.modules[call.function.path].root
            volume = volume_of(self._case, failure.occurrence, self._source, call)
            if volume:
                out.append(self._call_candidate(failure, call, root, None, volume))
            out += [self._call_candidate(failure, call, root, clock) for clock in self._clocks(failure)]
        return out[:MAX_CALLS]

    def _call_candidate(
        self, failure: _Failure, call: Call, root: str, clock_ns: int | None, volume: Volume | None = None
    ) -> Candidate:
        written = call_test(call, self._around(failure, root, clock_ns), volume)
        recorded = {
            "path": call.function.path,
            "qualname": call.function.qualname,
            "kwargs": dict(call.arguments),
            "expression": call.expression,
        }
        cited, summary = call.sources, call.expression[:200]
        if volume:
            recorded["rows"] = {volume.table: volume.rows}
            cited, summary = (*cited, *volume.citations), f"{summary} on {volume.rows} rows of {volume.table}"
        return self._candidate(failure, written, "call", summary, cited, recorded)

    def _candidate(
        self,
        failure: _Failure,
        written: Written,
        strategy: str,
        summary: str,
        citations: tuple[str, ...],
        recorded: dict[str, Any],
    ) -> Candidate:
        own = tuple(str(r.source) for r in failure.occurrence.own[:3])
        cited = [
            c for c in (*citations, *own, *failure.downstream.citations, *failure.settings.citations) if c != "settings"
        ]
        recovered = RecoveredInput(
            strategy=strategy,
            service=self._crash.service,
            language="python",
            summary=summary,
            http=recorded if strategy == "http" else {},
            call=recorded if strategy == "call" else {},
            stubs=failure.downstream.stubs,
            environment=failure.settings.environment,
            citations=tuple(dict.fromkeys(cited)),
        )
        return Candidate(input=recovered, files=written.files, test=written.test, command=written.command)

    def _around(self, failure: _Failure, root: str, clock_ns: int | None) -> Surroundings:
        others = {m.root for m in self._source.modules.values() if not m.is_test and m.path.startswith(self._prefix)}
        return Surroundings(
            incident=self._case.incident_id,
            crash=self._crash,
            environment=failure.settings.environment,
            stubs=failure.downstream.stubs,
            roots=(*sorted(others - {root})[:4], root),
            folder=self._prefix.rstrip("/"),
            clock_ns=clock_ns,
            files=self._source.files,
            crash_function=failure.stack[-1].function.name if failure.stack else "",
        )

    def _complete(self, failure: _Failure, request: Request) -> bool:
        """Whether the request can be sent as production got it."""
        if request.method not in BODY_METHODS or request.body is not None or request.empty:
            return True
        return not reads_body(failure.stack, self._source)

    def _missing(self) -> list[Missing]:
        service, error = self._crash.service, short_type(self._crash.signature.type)
        if not self._failures:
            return [ask.stack_missing(service, error)]
        requests = [(f, f.request) for f in self._failures if f.request]
        out = self._missing_of_requests(requests)
        if not any(f.stack for f in self._failures):
            out.append(ask.stack_missing(service, error))
        out += self._missing_of_calls(bool(requests))
        bodiless = tuple(dict.fromkeys(c for f in self._failures for c in f.downstream.bodiless))
        out += [ask.answers_missing(bodiless[:5])] if bodiless else []
        if any(ask.is_database(f.occurrence) for f in self._failures):
            out.append(ask.state_missing(service, error))
        return out

    def _missing_of_requests(self, requests: list[tuple[_Failure, Request]]) -> list[Missing]:
        service = self._crash.service
        incomplete = [(f, r) for f, r in requests if not self._complete(f, r)]
        out = [ask.body_missing(request, failure.occurrence) for failure, request in incomplete[:1]]
        out += self._unread(requests)
        if not requests and self._apps and not any(f.calls for f in self._failures):
            out.append(ask.request_missing(service))
        if requests and not self._apps:
            out.append(ask.application_missing(service))
        return out

    def _missing_of_calls(self, served: bool) -> list[Missing]:
        """Fields of a unit of work that was recorded in parts; arguments, where the failure was no request."""
        lacking = [c for f in self._failures for c in f.calls if c.lacks]
        if lacking or served:
            return [ask.fields_missing(c) for c in lacking[-1:]]
        pieced = [f.calls[0] for f in self._failures if f.calls and all(c.rank >= ASSEMBLED for c in f.calls)]
        unresolved = [Unresolved(c.function, tuple(n for n, _ in c.arguments)) for c in pieced[:1]]
        unresolved += [f.unresolved[-1] for f in self._failures if f.unresolved][:1]
        return [ask.arguments_missing(u) for u in unresolved]

    def _unread(self, requests: list[tuple[_Failure, Request]]) -> list[Missing]:
        """No failing request has a query string, though the code on the stack reads one."""
        if not requests or any(r.query for _, r in requests):
            return []
        failure, request = requests[0]
        if request.method in BODY_METHODS or not reads_query(failure.stack):
            return []
        return [ask.query_missing(request, failure.occurrence)]


def _directness(rank: int) -> int:
    return 0 if rank <= 3 else 1 if rank <= 6 else 2
