"""What the rules about dumps and profiles say alike: who changed the places that are seen, and how they are cited."""

from collections.abc import Sequence

from msgspec.structs import replace

from retrieval.context.locks import place_of
from retrieval.context.observed import touches
from retrieval.judgement import cites
from retrieval.judgement.draft import Cite, canonical
from retrieval.judgement.facts import Facts
from retrieval.model import DumpedThread, Profile, Suspect, ThreadDump
from retrieval.texts import phrase

_WHY = "hypotheses/why.j2"
_ROWS = 40  # of a profile, in the evidence


def changed(facts: Facts, service: str, places: Sequence[str]) -> list[Suspect]:
    """Suspect commits that touched one of the functions, or that changed a file of theirs in lines that speak of the
    symptom; those first that touched a function."""
    functions, files = set(places), {place.split("::")[0] for place in places}
    near = []
    for suspect in facts.case.suspects:
        if service and suspect.service != service:
            continue
        exact = bool(functions & set(suspect.symbols))
        here = any(change.path in files for change in suspect.commit.files)
        if exact or (here and touches(suspect.commit, facts.observed.symptom)):
            near.append((not exact, suspect))
    return [suspect for _, suspect in sorted(near, key=lambda pair: pair[0])]


def thread(dump: ThreadDump, held: DumpedThread) -> Cite:
    """One thread of a dump, with what its locks are."""
    named = {lock: dump.locks.get(lock, "") for lock in (*held.holds, held.waits_for) if lock}
    at = place_of(held)
    told = [f'"{held.name}"', held.state, f"{at.function} ({at.file}:{at.line})" if at else ""]
    told += [f"waits for {held.waits_for}"] if held.waits_for else []
    told += [f"holds {', '.join(held.holds[:3])}"] if held.holds else []
    return Cite(
        kind="dump",
        source=f"{dump.source.file}:{held.line}" if held.line else dump.source.file,
        content=canonical({"headline": dump.headline, "locks": named, "thread": held}),
        quote=cites.quote(" ".join(part for part in told if part)),
        why=phrase(_WHY, "thread", name=held.name),
        time_ns=dump.time_ns or None,
        service=dump.service,
    )


def profile(record: Profile, site: str) -> Cite:
    """A report, cut to its heaviest rows; the quote is the site's own line."""
    rows = [row for row in record.rows if row.site == site]
    kept = [*record.rows[:_ROWS], *(row for row in rows if row not in record.rows[:_ROWS])]
    own, count = sum(row.own for row in rows), sum(row.count for row in rows)
    objects = f", {count} objects" if count else ""
    told = f"{site}: {own} {record.unit} of {record.total}{objects}" if rows else f"{site}: not listed"
    return Cite(
        kind="profile",
        source=str(record.source),
        content=canonical(replace(record, rows=tuple(kept), stacks=record.stacks[:5])),
        quote=cites.quote(told),
        why=phrase(_WHY, "profile", kind=record.kind, format=record.format),
        time_ns=record.time_ns or None,
        service=record.service,
    )
