"""The whole way, by the command line: a provider changes its contract, or a migration runs, a consumer fails, and the
answer cites both sides."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.case_folder import ONSET_S, alert, git

API = """openapi: 3.0.3
paths:
  /coupons/{id}:
    get:
      responses:
        "200":
          content:
            application/json:
              schema: {$ref: "#/components/schemas/Coupon"}
components:
  schemas:
    Coupon:
      properties:
        code: {type: string}
        discount_text: {type: string}
"""
KEY_ERROR = (
    'Traceback (most recent call last):\n  File "/app/price/total.py", line 9, in total\n'
    "    line = coupon[\"discount_text\"].strip()\nKeyError: 'discount_text'"
)
NO_COLUMN = (
    'Traceback (most recent call last):\n  File "/app/price/total.py", line 12, in total\n'
    '    row = db.execute(QUERY)\npsycopg.errors.UndefinedColumn: column "note" does not exist'
)


def iso(second: float) -> str:
    return datetime.fromtimestamp(ONSET_S + second, UTC).isoformat()


def repository(path: Path, versions: list[dict[str, str]]) -> list[str]:
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    shas = []
    for n, files in enumerate(versions):
        for name, text in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
        git(path, "add", "-A")
        git(path, "commit", "-q", "-m", f"Step {n}", date=f"@{ONSET_S - 7200 + 600 * n} +0000")
        shas.append(git(path, "rev-parse", "HEAD").strip())
    return shas


def telemetry(folder: Path, stack: str) -> None:
    """`price` asks `coupons`, and fails from the onset on."""
    spans, logs = [], []
    for n in range(-60, 40):
        trace, at = f"{n + 1000:032x}", (ONSET_S + 20 * n) * 10**9
        fails = n >= 0
        rows = (
            ("a", "", "price", "GET /total", 2, 500 if fails else 200),
            ("b", "a", "price", "GET", 3, 200),
            ("c", "b", "coupons", "GET /coupons/{id}", 2, 200),
        )
        for key, parent, service, name, kind, status in rows:
            span = {
                "traceId": trace, "spanId": f"{trace[17:]}{key}", "name": name, "kind": kind, "startTimeUnixNano": at,
                "endTimeUnixNano": at + 10**6, "status": {"code": 2} if status == 500 else {},
                "attributes": {"http.response.status_code": status, "http.request.method": "GET"},
                "resource": {"service.name": service},
            }  # fmt: skip
            spans.append({**span, "parentSpanId": f"{trace[17:]}{parent}"} if parent else span)
        if fails:
            logs.append(
                {
                    "ts": iso(20 * n), "level": "ERROR", "service": "price", "message": "request failed",
                    "trace_id": trace, "span_id": f"{trace[17:]}a", "stack": stack,
                }
            )  # fmt: skip
    for name, rows_ in (("traces/t.jsonl", spans), ("logs/price.jsonl", logs)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows_))


def deploys(folder: Path, service: str, shas: list[str]) -> None:
    rows = [
        {"service": service, "git_sha": shas[0], "started_at": iso(-86_400 * 3)},
        {"service": service, "git_sha": shas[-1], "previous_sha": shas[0], "started_at": iso(-120)},
    ]
    (folder / "deploys.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "alert.json").write_text(json.dumps(alert()))


def triaged(folder: Path) -> dict[str, object]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", "from bot.cli import main; main()", "triage", "case", "--json", "--no-sandbox"],
        cwd=folder.parent, env=env, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def kinds_cited(found: dict[str, object]) -> set[str]:
    kinds = {e["id"]: e["kind"] for e in found["evidence"]}  # type: ignore[attr-defined]
    return {kinds[c] for claim in found["hypothesis"]["claims"] for c in claim["citations"]}  # type: ignore[index]


def test_a_consumer_that_reads_a_field_which_its_provider_dropped(tmp_path: Path) -> None:
    case = tmp_path / "case"
    without = API.replace("        discount_text: {type: string}\n", "")
    shas = repository(
        case / "repos" / "coupons",
        [{"api/openapi.yaml": API, "app.py": "A = 1\n"}, {"api/openapi.yaml": without}, {"README.md": "Hello\n"}],
    )
    telemetry(case, KEY_ERROR)
    deploys(case, "coupons", shas)
    found = triaged(case)
    hypothesis = found["hypothesis"]
    assert found["verdict"] == "supported"
    assert hypothesis["suspected_service"] == "coupons"  # type: ignore[index]
    assert hypothesis["suspected_commit"] == shas[1]  # type: ignore[index]
    assert "field Coupon.discount_text removed" in hypothesis["failure_mode"]  # type: ignore[index]
    assert {"contract", "log", "diff"} <= kinds_cited(found)


def test_the_same_contract_given_as_two_files(tmp_path: Path) -> None:
    case = tmp_path / "case"
    telemetry(case, KEY_ERROR)
    deploys(case, "coupons", ["a1" * 20, "b2" * 20])
    for version, text in (("before", API), ("after", API.replace("discount_text: {type: string}", "more: {}"))):
        path = case / "contracts" / "coupons" / version / "openapi.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    found = triaged(case)
    assert found["verdict"] == "supported"
    assert "field Coupon.discount_text removed" in found["hypothesis"]["failure_mode"]  # type: ignore[index]
    assert {"contract", "log"} <= kinds_cited(found)


def test_a_migration_that_drops_what_the_code_still_reads(tmp_path: Path) -> None:
    case = tmp_path / "case"
    shas = repository(
        case / "repos" / "price",
        [{"price/total.py": "A = 1\n"}, {"migrations/0007_tidy.sql": "ALTER TABLE orders DROP COLUMN note;\n"}],
    )
    telemetry(case, NO_COLUMN)
    deploys(case, "price", shas)
    found = triaged(case)
    assert found["verdict"] == "supported"
    assert found["hypothesis"]["suspected_file"] == "migrations/0007_tidy.sql"  # type: ignore[index]
    assert found["hypothesis"]["suspected_commit"] == shas[1]  # type: ignore[index]
    assert {"migration", "log"} <= kinds_cited(found)


def test_a_contract_that_changed_and_has_nothing_to_do_with_it(tmp_path: Path) -> None:
    case = tmp_path / "case"
    changed = API.replace("code: {type: string}", "code: {type: integer}")
    shas = repository(case / "repos" / "coupons", [{"api/openapi.yaml": API}, {"api/openapi.yaml": changed}])
    telemetry(case, KEY_ERROR.replace("discount_text", "basket_total"))
    deploys(case, "coupons", shas)
    found = triaged(case)
    assert "contract" not in str(found["hypothesis"]["failure_mode"])  # type: ignore[index]
    assert found["hypothesis"]["suspected_commit"] is None  # type: ignore[index]
