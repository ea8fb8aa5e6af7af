"""A case folder on disk, small and real: a WSGI service without dependencies in a git repository of six commits, the
traces, logs and metrics of an incident that the fourth one causes, and an alert in Alertmanager's form."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

ONSET_S = 1_747_204_800  # 2025-05-14 06:40:00 UTC
_ENV = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_AUTHOR_NAME": "Ada Byron", "GIT_AUTHOR_EMAIL": "ada@shop.example",
    "GIT_COMMITTER_NAME": "Ada Byron", "GIT_COMMITTER_EMAIL": "ada@shop.example",
}  # fmt: skip
APP = '''"""Prices over HTTP."""
import json
from urllib.parse import parse_qs

from price.format import discount_line


def app(environ, start_response):
    query = parse_qs(environ.get("QUERY_STRING", ""))
    line = discount_line(COUPONS.get(query.get("coupon", [""])[0], {}))
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"line": line}).encode()]


COUPONS = {"SPRING": {"percent": 5, "text": "Spring"}, "STAFF": {"percent": 20, "text": None}}
'''
FORMAT = '''"""How a discount is written."""


def discount_line(coupon):
    """One line of a receipt."""
    percent = coupon.get("percent", 0)
    return f"-{percent} %"
'''
GUILTY = FORMAT.replace('    return f"-{percent} %"', "    return f\"{coupon['text'].strip()}: -{percent} %\"")
_TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/app/price/app.py", line 10, in app\n'
    '    line = discount_line(COUPONS.get(query.get("coupon", [""])[0], {}))\n'
    '  File "/app/price/format.py", line 7, in discount_line\n'
    "    return f\"{coupon['text'].strip()}: -{percent} %\"\n"
    "AttributeError: 'NoneType' object has no attribute 'strip'"
)


def build(folder: Path, environment: Path | None = None) -> dict[str, str]:
    """Write the case; returns the commits by name: good, guilty, deployed. `environment`: a prepared one."""
    folder.mkdir(parents=True)
    commits = _repository(folder / "repos" / "shop")
    _telemetry(folder)
    deploys = [
        _deploy(commits["good"], -86_400 * 3, ""),
        _deploy(commits["deployed"], -180, commits["good"]),
    ]
    _lines(folder / "deploys.jsonl", deploys)
    _lines(folder / "flags.jsonl", [{"at": _iso(-90), "flag": "dark_mode", "value": True, "service": "web"}])
    _lines(folder / "config.jsonl", [{"at": _iso(-9000), "service": "price", "key": "WORKERS", "value": "4"}])
    service = {"repo": "shop", "language": "python", "owners": ["@shop/payments"]}
    if environment is not None:
        service["environment"] = str(environment)
    (folder / "services.json").write_text(json.dumps({"price": service}))
    (folder / "postmortems").mkdir()
    (folder / "postmortems" / "old.md").write_text("# Slow totals\n\n## Root cause\n\nA missing index.\n")
    (folder / "alert.json").write_text(json.dumps(alert()))
    return commits


def alert(name: str = "HighErrorRate", fingerprint: str = "58c9b86b3f4565f5") -> dict[str, object]:
    labels = {"alertname": name, "service": "price", "severity": "critical", "region": "eu-west-1"}
    row = {
        "status": "firing", "labels": labels, "annotations": {"summary": "price answers 500"},
        "startsAt": _iso(240), "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "", "fingerprint": fingerprint,
    }  # fmt: skip
    return {
        "version": "4", "receiver": "oncall", "status": "firing", "groupKey": f'{{}}:{{alertname="{name}"}}',
        "truncatedAlerts": 0, "groupLabels": {"alertname": name}, "commonLabels": labels, "commonAnnotations": {},
        "externalURL": "http://alertmanager.example.com", "alerts": [row],
    }  # fmt: skip


def _repository(path: Path) -> dict[str, str]:
    """Linear history; the guilty commit lies among innocents that touch the same file."""
    (path / "price").mkdir(parents=True)
    (path / "tests").mkdir()
    git(path, "init", "-q", "-b", "main")
    test = (
        "from price.format import discount_line\n\n\n"
        "def test_line():\n    assert discount_line({'percent': 5, 'text': 'x'})\n"
    )
    steps = [
        ("Price discounts", {"price/__init__.py": "", "price/app.py": APP, "price/format.py": FORMAT}),
        ("Say what it is", {"README.md": "# shop\n", "tests/test_format.py": test, "CODEOWNERS": "* @shop/payments\n"}),
        ("Word the docstring", {"price/format.py": FORMAT.replace("One line of", "A line of")}),
        ("Show coupon text on receipts", {"price/format.py": GUILTY}),
        ("Note the currency", {"price/format.py": GUILTY.replace("written.", "written, without currency.")}),
        ("Name the endpoint", {"price/app.py": APP.replace("Prices over HTTP", "Prices over HTTP, JSON")}),
    ]
    names = ["first", "good", "word", "guilty", "note", "deployed"]
    commits = {}
    for n, ((subject, files), name) in enumerate(zip(steps, names, strict=True)):
        for file, text in files.items():
            (path / file).write_text(text)
        git(path, "add", "-A")
        git(path, "commit", "-q", "-m", subject, date=f"@{ONSET_S - 7200 + 600 * n} +0000")
        commits[name] = git(path, "rev-parse", "HEAD").strip()
    return commits


def git(path: Path, *arguments: str, date: str = "") -> str:
    env = {**_ENV, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else _ENV
    done = subprocess.run(["git", "-C", str(path), *arguments], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def _telemetry(folder: Path) -> None:
    spans, logs = [], []
    for minute in range(-20, 10):
        for n in range(4):
            fails = minute >= 0 and n == 3
            at = (ONSET_S + 60 * minute + 10 * n) * 10**9
            trace = f"{(minute + 100) * 10 + n:032x}"
            spans.append(_span(trace, at, "STAFF" if n == 3 and minute >= 0 else "SPRING", fails))
            if fails:
                logs.append(_error(trace, at))
            logs.append(
                {"ts": _iso(60 * minute + 10 * n), "level": "INFO", "service": "price", "message": f"served {n}"}
            )
        if minute % 5 == 0:
            message = "currency feed is slow"
            logs.append({"ts": _iso(60 * minute + 7), "level": "WARNING", "service": "price", "message": message})
    _lines(folder / "traces" / "spans.jsonl", spans)
    _lines(folder / "logs" / "price.jsonl", logs)
    values = [[ONSET_S + 60 * m, 0 if m < 0 else 6] for m in range(-20, 10)]
    _lines(
        folder / "metrics" / "http.jsonl", [{"metric": "http_5xx", "labels": {"service": "price"}, "values": values}]
    )


def _span(trace: str, at: int, coupon: str, fails: bool) -> dict[str, object]:
    return {
        "traceId": trace, "spanId": trace[16:], "name": "GET /total", "kind": 2, "startTimeUnixNano": at,
        "endTimeUnixNano": at + 2_000_000, "status": {"code": 2} if fails else {},
        "attributes": {
            "http.request.method": "GET", "url.path": "/total", "url.query": f"coupon={coupon}",
            "http.response.status_code": 500 if fails else 200,
        },
        "resource": {"service.name": "price", "cloud.region": "eu-west-1"},
    }  # fmt: skip


def _error(trace: str, at: int) -> dict[str, object]:
    return {
        "ts": datetime.fromtimestamp(at / 1e9, UTC).isoformat(), "level": "ERROR", "service": "price",
        "message": "request failed", "trace_id": trace, "span_id": trace[16:], "stack": _TRACE,
    }  # fmt: skip


def _deploy(sha: str, second: int, previous: str) -> dict[str, object]:
    row: dict[str, object] = {
        "service": "price", "git_sha": sha, "region": "eu-west-1", "started_at": _iso(second), "percent": 100
    }  # fmt: skip
    return {**row, "previous_sha": previous} if previous else row


def _lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _iso(second: float) -> str:
    return datetime.fromtimestamp(ONSET_S + second, UTC).isoformat().replace("+00:00", "Z")
