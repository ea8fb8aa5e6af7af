"""What an alert asks of each kind (row B4). Pure.

The text is the alert's own words and the errors that were found; the exact parts are the frames, paths and signatures
of those errors; the filters are the window and, where the kind belongs to a service, the services of the failing path.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from retrieval.context.observed import WORDS, observed
from retrieval.kinds.base import error_fields
from retrieval.kinds.registry import KNOWLEDGE
from retrieval.kinds.skeleton import path_signature, traces_of
from retrieval.model import LIVE, Alert, Case, CrashGroup, Query

CRASHES = 3  # groups whose words and frames are asked for
_TEXT_CAP = 2_000
_PLACES = 20  # functions of dumps and profiles that are asked for
_CODES = ("status", "status_code", "code", "http_status", "error_code", "exception", "error", "endpoint", "route")

Asked = list[tuple[str, Query]]


def queries(case: Case, *, acl: Sequence[str] = ("public",), knowledge: str = LIVE) -> Asked:
    """(kind, query) pairs, in a fixed order. A kind is asked more than once where there is more than one way to what it
    knows: a trace by words, by the representative trace's id and by the way it went. `knowledge` is the snapshot that
    code, changes and what was written down are asked of."""
    told = _told(case)
    base = Query(acl=tuple(acl), **told)  # type: ignore[arg-type]
    window = case.window
    inside = replace(base, from_ns=window.from_ns, to_ns=window.to_ns) if window else base
    services = _services(case)
    environment = case.alerts[0].environment if case.alerts else ""
    until = window.to_ns if window else None
    asked: Asked = [
        ("trace", replace(inside, kinds=("trace",), services=services)),
        ("log", replace(inside, kinds=("log",), services=services)),
        ("metric", replace(inside, kinds=("metric",), services=services, to_ns=None)),
        ("diff", replace(_of_its_class(base, case), kinds=("diff",), from_ns=_changes_from(case), to_ns=until)),
        ("deploy", replace(base, kinds=("deploy",), services=services, to_ns=until)),
        ("flag", replace(base, kinds=("flag",), to_ns=until)),
        ("config", replace(base, kinds=("config",), services=services, to_ns=until)),
        ("test", replace(base, kinds=("test",), to_ns=until)),
        ("postmortem", replace(base, kinds=("postmortem",), to_ns=until)),
        ("ticket", replace(base, kinds=("ticket",), to_ns=until)),
        ("contract", replace(base, kinds=("contract",), to_ns=until)),
        ("migration", replace(base, kinds=("migration",), to_ns=until)),
        ("symbol", replace(base, kinds=("symbol",))),
        ("dump", replace(base, kinds=("dump",))),
        ("profile", replace(base, kinds=("profile",))),
        ("coverage", replace(base, kinds=("coverage",))),
        ("environment", replace(base, kinds=("environment",), to_ns=until)),
    ]
    asked += [("trace", replace(inside, kinds=("trace",), keys=keys)) for keys in _ways(case)]
    if environment:
        asked += [(kind, replace(query, environment=environment)) for kind, query in asked[:2]]
    return [(kind, replace(query, snapshot=knowledge) if kind in KNOWLEDGE else query) for kind, query in asked]


def _of_its_class(query: Query, case: Case) -> Query:
    """The query with the words of code that takes locks, keeps things or loops, where the trouble is of that class, and
    with the functions that dumps and profiles show (row A13)."""
    seen = observed(case)
    if not seen.symptom:
        return query
    places = [place for place, _ in seen.places[:_PLACES]]
    return replace(
        query,
        text=f"{query.text} {WORDS[seen.symptom]}"[:_TEXT_CAP],
        symbols=tuple(dict.fromkeys([*query.symbols, *places])),
        paths=tuple(dict.fromkeys([*query.paths, *(place.partition("::")[0] for place in places)])),
    )


def _changes_from(case: Case) -> int | None:
    """How far back diffs are asked for: the window's reach, and on to the oldest commit that was deployed in it, since
    what reached production yesterday may have been written weeks before."""
    if case.window is None:
        return None
    return min([case.window.diffs_from_ns, *(suspect.commit.committed_ns for suspect in case.suspects)])


def _told(case: Case) -> dict[str, object]:
    """Text, paths, symbols and signatures to search by."""
    crashes = case.crashes[:CRASHES]
    words = [word for alert in case.alerts[:3] for word in _alert_words(alert)]
    for crash in crashes:
        words += [crash.signature.type, crash.signature.message, crash.crash_function, crash.crash_path]
    frames = [frame for crash in crashes for frame in reversed(crash.in_app_frames)]
    named = _recorded(crashes[0]) if crashes else {}
    paths = [*(frame.rpartition("::")[0] for frame in frames), *named.get("paths", ())]
    return {
        "text": " ".join(dict.fromkeys(word for word in words if word))[:_TEXT_CAP],
        "paths": tuple(dict.fromkeys(path for path in paths if path)),
        "symbols": tuple(dict.fromkeys([*frames, *named.get("symbols", ())])),
        "error_signature": named.get("error_signature", ""),
        "stack_signature": named.get("stack_signature", ""),
    }


def _alert_words(alert: Alert) -> list[str]:
    labels = alert.labels
    return [alert.name, alert.summary, alert.service, alert.region, *(labels[k] for k in _CODES if labels.get(k))]


def _recorded(crash: CrashGroup) -> dict[str, Any]:
    """Signatures and places of a crash as the documents of its own records bear them."""
    for error in [*(log.exception for log in crash.logs), *(span.exception for span in crash.spans)]:
        if error is not None:
            return error_fields(error.trace, error.type, error.message, ())
    return {}


def _services(case: Case) -> tuple[str, ...]:
    """The alerted services and those that failing requests pass through; none where neither is known."""
    named = [alert.service for alert in case.alerts]
    crashed = [crash.service for crash in case.crashes[:CRASHES]]
    return tuple(dict.fromkeys(name for name in (*case.topology.path, *named, *crashed) if name))


def _ways(case: Case) -> list[dict[str, str]]:
    """Join keys of the representative trace: its id, and the way that it went, which healthy neighbours share."""
    ids = [trace_id for crash in case.crashes[:1] for trace_id in _trace_ids(crash) if trace_id]
    ids += sorted({span.trace_id for span in case.sources.spans if span.failed and _inside(case, span.start_ns)})[:1]
    if not ids:
        return []
    chosen = ids[0]
    found = traces_of(span for span in case.sources.spans if span.trace_id == chosen)
    ways = [{"path_signature": path_signature(trace.services())} for trace in found.values()]
    return [{"trace_id": chosen}, *ways]


def _trace_ids(crash: CrashGroup) -> list[str]:
    return [*(span.trace_id for span in crash.spans), *(log.trace_id for log in crash.logs)]


def _inside(case: Case, time_ns: int) -> bool:
    return case.window is None or case.window.from_ns <= time_ns < case.window.to_ns
