"""Case folders whose evidence is a dump or a profile: a Java service whose threads hang, a Python one that grows."""

import json
from pathlib import Path

from tests.case_folder import ONSET_S, _deploy, _iso, _lines, alert, git

CAPTURED = Path(__file__).parent / "captured" / "dumps"
JAVA = "src/main/java/shop/Pay.java"
# As it was when the captured dump was taken; the guilty commit turns the order of the two locks.
PAY = """package shop;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;
public class Pay {
  static final Object ledger = new Object(); static final Object cart = new Object();
  static final ReentrantLock fair = new ReentrantLock();
  static void charge() { synchronized (ledger) { nap(); refund(); } }
  static void refund() { synchronized (cart) { nap(); } }
  static void checkout() { synchronized (cart) { nap(); post(); } }
  static void post() { synchronized (ledger) { nap(); } }
  static void slow() { fair.lock(); try { while (true) nap(); } finally { fair.unlock(); } }
  static void wants() { fair.lock(); fair.unlock(); }
  static void nap() { try { Thread.sleep(300); } catch (InterruptedException e) { } }
}
"""
PAY_GOOD = PAY.replace("synchronized (cart) { nap(); post(); }", "synchronized (ledger) { nap(); post(); }")
BASKET = '''"""Baskets."""


def render(basket):
    return ", ".join(basket)


def handle(basket):
    return render(basket)
'''
BASKET_LEAKS = '''"""Baskets."""

SEEN = {}


def render(basket):
    return ", ".join(basket)


def handle(basket):
    SEEN[len(SEEN)] = render(basket)
    return SEEN[len(SEEN) - 1]
'''


def deadlock(folder: Path) -> dict[str, str]:
    """`price` hangs: an alert on latency, a deploy, a thread dump; no error, no stack in any log."""
    steps = [
        ("Take payments", {JAVA: PAY_GOOD}),
        ("Say what it is", {"README.md": "# pay\n"}),
        ("Post to the ledger while the cart is held", {JAVA: PAY}),
        ("Note the nap", {JAVA: PAY.replace("class Pay {", "class Pay { // naps")}),
        (
            "Name the queue",
            {"src/main/java/shop/Queue.java": "package shop;\nclass Queue { int length() { return 0; } }\n"},
        ),
    ]
    commits = _case(folder, steps, "java", ("PaymentsSlow", "price does not answer"))
    text = (CAPTURED / "threads" / "java-jstack.txt").read_text("utf-8")
    _write(folder / "dumps" / "price" / "jstack.txt", text.replace("2026-12-01 11:57:50", "2025-05-14 06:45:00", 1))
    return commits


def leak(folder: Path) -> dict[str, str]:
    """`price` grows: an alert on memory, a deploy, a heap report from before and one from after it."""
    steps = [
        ("Baskets", {"price/basket.py": BASKET}),
        ("Say what it is", {"README.md": "# pay\n"}),
        ("Remember baskets", {"price/basket.py": BASKET_LEAKS}),
        ("Note the currency", {"price/currency.py": "EURO = 'EUR'\n"}),
        ("Note another one", {"price/currency.py": "EURO, POUND = 'EUR', 'GBP'\n"}),
    ]
    commits = _case(folder, steps, "python", ("MemoryHigh", "price uses 95 % of its memory"))
    line = "/srv/app/price/basket.py:7: size={size}, count={count}, average=1439 B\n"
    other = "/usr/lib/python3.11/json/decoder.py:353: size=300 KiB, count=1200, average=256 B\n"
    _write(folder / "profiles" / "price" / "heap-before.txt", line.format(size="21.0 KiB", count=15) + other)
    _write(folder / "profiles" / "price" / "heap.txt", line.format(size="93.4 MiB", count=68_000) + other)
    return commits


def _case(
    folder: Path, steps: list[tuple[str, dict[str, str]]], language: str, asked: tuple[str, str]
) -> dict[str, str]:
    repo = folder / "repos" / "shop"
    repo.mkdir(parents=True)
    git(repo, "init", "-q", "-b", "main")
    commits = {}
    for n, ((subject, files), name) in enumerate(
        zip(steps, ("first", "good", "guilty", "note", "deployed"), strict=True)
    ):
        for file, text in files.items():
            _write(repo / file, text)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", subject, date=f"@{ONSET_S - 7200 + 600 * n} +0000")
        commits[name] = git(repo, "rev-parse", "HEAD").strip()
    deploys = [_deploy(commits["good"], -86_400 * 3, ""), _deploy(commits["deployed"], -180, commits["good"])]
    _lines(folder / "deploys.jsonl", deploys)
    _write(folder / "services.json", json.dumps({"price": {"repo": "shop", "language": language}}))
    values = [[ONSET_S + 60 * m, 0.05 if m < 0 else 9.5] for m in range(-20, 10)]
    series = [{"metric": "p99_seconds", "labels": {"service": "price"}, "values": values}]
    _lines(folder / "metrics" / "http.jsonl", series)
    told = alert(asked[0])
    for row in told["alerts"]:  # type: ignore[attr-defined]
        row["annotations"]["summary"] = asked[1]
        row["startsAt"] = _iso(240)
    _write(folder / "alert.json", json.dumps(told))
    return commits


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
