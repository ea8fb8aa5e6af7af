"""When it began, from what was recorded."""

import random

import pytest

from retrieval.context.bursts import SIGNIFICANT, find_burst
from retrieval.context.changes import find_shift, increases, is_counter
from retrieval.context.coverage import Coverage
from retrieval.context.onset import find_onset
from tests.retrieval.context.scene import MINUTE, alert, at, chatter, log, raised, series, sources, span


def failing(minutes: list[float], message: str = "no such zone", service: str = "shop") -> list[object]:
    return [log(m, error=raised("KeyError", message, "shop/a.py:f:1"), service=service) for m in minutes]


def test_a_new_error_dates_the_onset_to_its_first_event() -> None:
    errors = failing([-6, -3, -2.9, -2, -1, -0.5, 1, 2, 3, 4, 5])
    found = find_onset([alert()], sources(chatter(), errors))
    assert (found.at_ns, found.source, found.signals["log"]) == (at(-6), "log", at(-6))
    assert "KeyError in shop: never before" in found.reason


def test_old_background_errors_date_nothing() -> None:
    noise = failing([-29 + 1.3 * n for n in range(30)], "feed refused")
    errors = [log(m, error=raised("ValueError", "bad", "shop/b.py:g:2")) for m in (-4, -3, -2.5, -2, -1, 0.5, 1, 2)]
    assert find_onset([alert()], sources(chatter(), noise, errors)).at_ns == at(-4)


def test_an_error_that_only_became_frequent_dates_to_the_jump() -> None:
    errors = failing([-25, -14, *(-5 + 0.4 * n for n in range(30))])
    assert find_onset([alert()], sources(chatter(), errors)).at_ns == at(-5)


def test_the_alerted_service_counts_more_than_strangers() -> None:
    strangers = failing([-20 + 0.5 * n for n in range(16)], service="elsewhere")
    errors = failing([-4, -3.5, -3, -2, -1, 1, 2, 3], "other")
    assert find_onset([alert()], sources(chatter(), strangers, errors)).at_ns == at(-4)


def test_failing_spans_vote_as_well() -> None:
    healthy = [span(-30 + n, kind="server") for n in range(40)]
    failures = [span(m, trace=f"x{m}", failed=True) for m in (-3, -2.5, -2, -1.5, -1, 1, 2, 3)]
    found = find_onset([alert()], sources(healthy, failures))
    assert (found.source, found.at_ns) == ("trace", at(-3) + 10_000_000)


def test_a_shifted_series_dates_the_onset_where_no_error_does() -> None:
    found = find_onset([alert()], sources(chatter(), series([3.0, 2.0, 4.0, 3.0] * 6 + [900.0, 850.0, 910.0] * 3)))
    assert (found.source, found.at_ns) == ("metric", at(-6))
    assert "went from 3 to 900" in found.reason


def test_a_single_spike_is_no_shift() -> None:
    spiky = [3.0, 2.0, 4.0, 2901.0, *([3.0, 2.0, 4.0] * 9)]
    assert find_onset([alert()], sources(chatter(), series(spiky))).source == "alert"


def test_when_nothing_moves_the_alert_says_when() -> None:
    found = find_onset([alert(minute=2), alert(minute=0)], sources(chatter()))
    assert (found.at_ns, found.source, found.signals) == (at(0), "alert", {"alert": at(0)})
    assert find_onset([alert()], sources()).at_ns == at(0)


def test_the_onset_is_never_later_than_the_alert() -> None:
    assert find_onset([alert()], sources(chatter(), failing([1, 2, 3, 4, 5, 6, 7, 8]))).at_ns == at(0)


def test_series_of_other_services_and_resolved_alerts_do_not_vote() -> None:
    moved = series([1.0] * 20 + [9.0] * 15, service="stranger")
    assert find_onset([alert()], sources(chatter(), moved)).source == "alert"
    with pytest.raises(ValueError):
        find_onset([], sources())


def test_an_alert_that_names_no_known_service_lets_all_of_them_vote() -> None:
    moved = series([1.0] * 20 + [9.0] * 15, service="shop")
    assert find_onset([alert("node-exporter")], sources(chatter(), moved)).source == "metric"


def test_counters_are_read_as_rates() -> None:
    total = [float(10 * n) for n in range(20)] + [190.0 + 200 * n for n in range(1, 12)]
    points = [(at(n), v) for n, v in enumerate(total)]
    assert is_counter(points, "requests_total") and not is_counter(points, "queue_length")
    shift = find_shift(points, "requests_total")
    assert shift is not None and shift.at_ns == at(20) and shift.after > 10 * shift.before
    assert increases([(0, 5.0), (10**9, 9.0), (2 * 10**9, 3.0)]) == [(10**9, 4.0), (2 * 10**9, 3.0)]


def test_sparse_counts_shift_by_their_mean() -> None:
    values = [0.0] * 17 + [3.0, 1.0, 0, 0, 2.0, 0, 0, 0, 6.0, 1.0, 3.0, 3.0, 0, 4.0, 0, 4.0, 2.0, 4.0]
    shift = find_shift([(at(n), v) for n, v in enumerate(values)])
    assert shift is not None and at(15) <= shift.at_ns <= at(26) and shift.after > shift.before
    assert find_shift([(at(n), 1.0) for n in range(40)]) is None
    assert find_shift([(at(0), 1.0), (at(1), 5.0)]) is None


def test_steady_events_are_rarely_a_burst() -> None:
    chance = random.Random(7)
    coverage = Coverage(at(n / 2) for n in range(120))
    runs = [find_burst([at(60 * chance.random()) for _ in range(12)], coverage, at(60)) for _ in range(300)]
    assert sum(burst is not None and burst.gain >= SIGNIFICANT for burst in runs) <= 12
    assert find_burst([], coverage, at(60)) is None


def test_time_that_was_not_recorded_does_not_thin_a_rate() -> None:
    coverage = Coverage([*(at(n) for n in range(10)), *(at(1000 + n) for n in range(10))])
    assert coverage.minutes(at(0), at(1010)) == pytest.approx(20)
    assert coverage.minutes(at(9.5), at(1000.25)) == pytest.approx(0.75)
    assert coverage.minutes(at(500), at(600)) == pytest.approx(1 / 60)
    assert coverage.resumed_ns(at(1005)) == at(1000)
    assert (coverage.start_ns, coverage.end_ns) == (at(0), at(1010))
    nothing = Coverage([])
    assert (nothing.start_ns, nothing.end_ns, nothing.resumed_ns(5 * MINUTE)) == (0, 0, 5 * MINUTE)
