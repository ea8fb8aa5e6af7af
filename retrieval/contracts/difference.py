"""Two versions of a contract to what was changed between them. Pure."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from retrieval.contracts.base import Difference, Format
from retrieval.model import ContractChange, ContractElement, SourceRef

MAX_CHANGES = 500  # of one file; more is a new file, and those that break come first


class Versions(Struct, frozen=True, kw_only=True):
    """One file before and after, and what is known of the change as a whole."""

    service: str
    path: str
    before: tuple[ContractElement, ...] = ()
    after: tuple[ContractElement, ...] = ()
    repo: str = ""
    commit_sha: str = ""
    version: str = ""
    reached_ns: int | None = None
    source: str = ""


def differences(format_: Format, versions: Versions) -> tuple[ContractChange, ...]:
    """Every difference with what it breaks, those that break first, then in the order of names."""
    found = [_change(format_, versions, d) for d in _differ(format_, versions.before, versions.after)]
    found.sort(key=lambda c: (not c.breaks, c.what, c.name, c.fact, c.source.line))
    return tuple(found[:MAX_CHANGES])


def _differ(
    format_: Format, before: Sequence[ContractElement], after: Sequence[ContractElement]
) -> Iterator[Difference]:
    old = {(e.what, e.name): e for e in reversed(before)}
    new = {(e.what, e.name): e for e in reversed(after)}
    for key in sorted({*old, *new}):
        one, other = old.get(key), new.get(key)
        if one is None or other is None:
            if other is not None or not format_.steps:
                yield Difference(change="removed" if other is None else "added", before=one, after=other)
            continue
        for fact in sorted({*one.facts, *other.facts}):
            if one.facts.get(fact, "") != other.facts.get(fact, ""):
                yield Difference(change="changed", before=one, after=other, fact=fact)


def _change(format_: Format, versions: Versions, found: Difference) -> ContractChange:
    judged = format_.judge(found)
    element = found.element
    old = found.before or element
    return ContractChange(
        service=versions.service,
        format=format_.name,
        path=versions.path,
        what=element.what,
        name=element.name,
        change="" if format_.steps else found.change,
        owner=old.owner,
        member=old.member,
        fact=found.fact,
        before=found.old,
        after=found.new or element.facts.get("after", ""),
        breaks=judged.breaks,
        rule=judged.rule,
        risk=element.facts.get("risk", ""),
        direction=element.direction or old.direction,
        used_by=tuple(dict.fromkeys((*old.used_by, *element.used_by))),
        repo=versions.repo,
        commit_sha=versions.commit_sha,
        version=versions.version,
        reached_ns=versions.reached_ns,
        source=SourceRef(versions.source or versions.path, element.line),
    )
