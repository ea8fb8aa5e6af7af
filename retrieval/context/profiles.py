"""Two profiles compared: which functions got hotter, which classes or allocation sites grew (row A13). Pure."""

from collections.abc import Iterable

from msgspec import Struct

from retrieval.model import Profile, ProfileRow

MIN_SHARE = 0.05  # of the later profile's total, that a row must have grown by; less is how two runs differ anyway
MIN_FACTOR = 1.5
HOT_SHARE = 0.5  # of a lone profile's total: one place that takes most of everything


class Growth(Struct, frozen=True, kw_only=True):
    """One site in the later profile. `before` and `after` are in the profile's unit, for time shares of the total in
    parts per million, so that profiles of different length compare."""

    row: ProfileRow
    before: int
    after: int
    share: float  # of the later total, that it grew by


class Comparison(Struct, frozen=True):
    before: Profile
    after: Profile
    grown: tuple[Growth, ...]


def compare(before: Profile, after: Profile, limit: int = 5) -> Comparison:
    """What grew most, first. Time is compared by share of the whole, memory by its amount; a site's own cost counts."""
    scale_before, scale_after = (1.0, 1.0) if after.kind == "heap" else (_ppm(before), _ppm(after))
    whole = max(after.total, 1) * scale_after
    old = _by_site(before)
    found = []
    for row in _by_site(after).values():
        was = old.get(row.site)
        earlier = round((was.own if was else 0) * scale_before)
        later = round(row.own * scale_after)
        share = (later - earlier) / whole
        if share >= MIN_SHARE and later >= MIN_FACTOR * earlier:
            found.append(Growth(row=row, before=earlier, after=later, share=round(share, 6)))
    found.sort(key=lambda g: (-g.share, g.row.site))
    return Comparison(before, after, tuple(found[:limit]))


def _ppm(profile: Profile) -> float:
    return 1e6 / max(profile.total, 1)


def _by_site(profile: Profile) -> dict[str, ProfileRow]:
    """Rows by site; a function that has several (py-spy names the line) is one, with the heaviest line's place."""
    found: dict[str, ProfileRow] = {}
    for row in profile.rows:
        known = found.get(row.site)
        if known is None:
            found[row.site] = row
        else:
            found[row.site] = ProfileRow(
                site=row.site,
                own=known.own + row.own,
                total=max(known.total, row.total),
                count=known.count + row.count,
                path=known.path,
                line=known.line,
            )
    return found


def comparisons(profiles: Iterable[Profile], onset_ns: int) -> tuple[Comparison, ...]:
    """The later profile of each service and kind against an earlier one of the same format.

    Earlier is what is named a baseline or was taken before the onset; of several the last. Later is the last of the
    others. A profile without a time counts as taken at the onset.
    """
    groups: dict[tuple[str, str, str, str], list[Profile]] = {}
    for profile in profiles:
        groups.setdefault((profile.service, profile.kind, profile.format, profile.unit), []).append(profile)
    found = []
    for key in sorted(groups):
        ordered = sorted(groups[key], key=lambda p: (p.time_ns or onset_ns, str(p.source)))
        earlier = [p for p in ordered if p.baseline or (p.time_ns and p.time_ns < onset_ns)]
        later = [p for p in ordered if p not in earlier]
        if earlier and later:
            found.append(compare(earlier[-1], later[-1]))
    return tuple(found)


def hottest(profile: Profile) -> ProfileRow | None:
    """The site whose own cost is at least `HOT_SHARE` of everything, None where the cost is spread."""
    row = max(_by_site(profile).values(), key=lambda r: (r.own, r.site), default=None)
    return row if row is not None and row.own >= HOT_SHARE * max(profile.total, 1) else None
