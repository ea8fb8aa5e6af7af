"""Profiles and heap reports: one document each, the heaviest sites and stacks as text (row A13)."""

from collections.abc import Iterator, Sequence

from retrieval.kinds.base import Kind, Material, kept, restoring
from retrieval.model import Document, Profile, ProfileRow
from retrieval.model.paths import repo_path, stable_path

_ROWS = 40
_STACKS = 10


def documents(material: Material) -> Iterator[Document]:
    for number, profile in enumerate(material.sources.profiles):
        places = _places(profile.rows[:_ROWS], material.files_of(profile.service))
        yield material.document(
            "profile",
            (profile,),
            title=f"{profile.kind} profile ({profile.format}), {profile.total} {profile.unit}",
            text=_text(profile),
            time_ns=profile.time_ns,
            service=profile.service,
            paths=tuple(dict.fromkeys(path for path, _ in places)),
            symbols=tuple(dict.fromkeys(f"{path}::{name}" for path, name in places)),
            source=str(profile.source),
            attributes=kept([(number, profile)]),
        )


def _text(profile: Profile) -> str:
    whole = max(profile.total, 1)
    rows = [_row(row, profile.unit, whole) for row in profile.rows[:_ROWS]]
    return "\n".join([*rows, *(f"{stack} {cost}" for stack, cost in profile.stacks[:_STACKS])]) or "no rows"


def _row(row: ProfileRow, unit: str, whole: int) -> str:
    place = f" ({row.path}:{row.line})" if row.path else ""
    count = f", {row.count} objects" if row.count else ""
    return f"{row.site}{place}: own {row.own} {unit} ({100 * row.own / whole:.1f} %), total {row.total}{count}"


def _places(rows: Sequence[ProfileRow], files: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for row in rows:
        if row.path:
            name = "" if row.site == f"{row.path}:{row.line}" else row.site.replace(".<locals>", "")
            found.append((repo_path(row.path, files) or stable_path(row.path), name or "<module>"))
    return found


KIND = Kind("profile", documents, restoring("profiles", Profile), timeless=True)
