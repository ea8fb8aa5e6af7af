"""What of a run's output is kept."""

from bundles.tidy import tidy

NOW = 1_796_099_473.5  # 2026-12-01T04:31:13.5Z


def test_a_kept_log_names_no_place_and_no_time() -> None:
    said = (
        "/repo/shop/app.py:3: <Thing object at 0x7f2a1b3c4d5e> /tmp/pytest-of-x/pytest-3/a.txt pid=77\n"
        "/cache/site/flask/app.py:1 <Thread(worker, started 140234567890123)>\n1.23s call test_x\n"
        "connect to 127.0.0.1:43567 ('127.0.0.1', 43567)\n1 failed in 0.12s\n"
    )
    assert tidy(said, [("/cache/site", "<site-packages>")], now_s=NOW) == (
        "shop/app.py:3: <Thing object at 0x…> <scratch> pid\n"
        "<site-packages>/flask/app.py:1 <Thread(worker, started <thread>)>\n<time> call test_x\n"
        "connect to 127.0.0.1:<port> ('127.0.0.1', <port>)\n1 failed in <time>"
    )


def test_times_of_the_run_go_and_times_of_the_incident_stay() -> None:
    said = (
        "at 2026-12-01T04:31:13.464Z, 2026-12-01 04:31:13+01:00, 1796099473.123, 1796099473123456789,\n"
        "datetime.datetime(2026, 12, 1, 4, 31, tzinfo=ZoneInfo(key='UTC')) but\n"
        "2025-03-28T05:00, datetime.datetime(2025, 3, 28, 5, 0), 1743130800, 2026-12-01"
    )
    assert tidy(said, now_s=NOW) == (
        "at <now>, <now>, <now>, <now>,\ndatetime.<now> but\n"
        "2025-03-28T05:00, datetime.datetime(2025, 3, 28, 5, 0), 1743130800, 2026-12-01"
    )


def test_what_the_tested_code_printed_is_left_out() -> None:
    said = (
        "E   ValueError: no\n\nshop/app.py:3: ValueError\n"
        "----------------------------- Captured stdout call -----------------------------\ntook 12 ms\n"
        "------------------------------ Captured log call -------------------------------\nERROR x\n"
        "=========================== short test summary info ============================\nFAILED test_x\n"
    )
    assert tidy(said, now_s=NOW) == (
        "E   ValueError: no\n\nshop/app.py:3: ValueError\n(Captured stdout call: left out)\n"
        "(Captured log call: left out)\n"
        "=========================== short test summary info ============================\nFAILED test_x"
    )


def test_only_the_end_is_kept() -> None:
    assert len(tidy("x\n" * 10_000, now_s=NOW).splitlines()) == 60
