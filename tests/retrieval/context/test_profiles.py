"""What grew between two profiles, and which two are compared."""

from retrieval.context.profiles import compare, comparisons, hottest
from retrieval.model import Profile, ProfileRow, SourceRef

ONSET = 1_747_204_800 * 10**9


def heap(total: int, time_ns: int = 0, service: str = "price", baseline: bool = False, **sites: int) -> Profile:
    rows = tuple(ProfileRow(site=site, own=size, total=size) for site, size in sites.items())
    return Profile(
        kind="heap", format="jmap", unit="bytes", service=service, total=total, rows=rows, time_ns=time_ns,
        baseline=baseline, source=SourceRef(f"profiles/{time_ns}.txt"),
    )  # fmt: skip


def cpu(total: int, **sites: int) -> Profile:
    rows = tuple(ProfileRow(site=site, own=cost, total=cost) for site, cost in sites.items())
    return Profile(kind="cpu", format="collapsed", total=total, rows=rows)


def grown(before: Profile, after: Profile) -> list[tuple[str, int, int]]:
    return [(g.row.site, g.before, g.after) for g in compare(before, after).grown]


def test_memory_is_compared_by_amount_and_what_grew_most_comes_first() -> None:
    before, after = heap(100, Cache=10, Session=20, Index=70), heap(1_000, Cache=600, Session=290, Index=75, Row=35)
    assert grown(before, after) == [("Cache", 10, 600), ("Session", 20, 290)]


def test_time_is_compared_by_share_so_that_a_longer_profile_is_no_growth() -> None:
    assert grown(cpu(100, parse=50, render=50), cpu(1_000, parse=500, render=500)) == []
    assert grown(cpu(100, parse=10, render=90), cpu(1_000, parse=800, render=200)) == [("parse", 100_000, 800_000)]


def test_a_function_that_is_listed_by_line_is_one() -> None:
    rows = tuple(ProfileRow(site="parse", own=40, total=40, path="a.py", line=n) for n in (3, 5))
    assert hottest(Profile(kind="cpu", format="collapsed", total=100, rows=rows)) == ProfileRow(
        site="parse", own=80, total=40, path="a.py", line=3
    )


def test_a_profile_whose_cost_is_spread_has_no_hottest_place() -> None:
    assert hottest(cpu(100, a=40, b=30, c=30)) is None
    assert hottest(cpu(0)) is None


def test_the_last_from_before_the_onset_is_compared_with_the_last_from_after() -> None:
    minute = 60 * 10**9
    taken = [heap(10, ONSET + at * minute, Cache=at + 100) for at in (-20, -5, 3, 9)]
    (found,) = comparisons([taken[2], taken[0], taken[3], taken[1]], ONSET)
    assert (found.before, found.after) == (taken[1], taken[3])


def test_a_baseline_is_named_where_no_time_tells() -> None:
    (found,) = comparisons([heap(9, Cache=9), heap(1, baseline=True, Cache=1)], ONSET)
    assert (found.before.total, found.after.total) == (1, 9)


def test_reports_of_other_services_or_kinds_are_not_compared() -> None:
    assert comparisons([heap(1, baseline=True, Cache=1), heap(9, service="edge", Cache=9), cpu(5, a=5)], ONSET) == ()
