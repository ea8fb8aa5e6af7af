"""The shipped recording, and the paperwork around it."""

import json
from importlib.resources import files
from pathlib import Path

from bot.cli.triage import parse_alert, read_alert
from bot.demo.case_folder import RECORDING, pack_recording
from bot.demo.record.plan import ALERT, CANARY_DEPLOY, ENDS, FLAG_SWITCH, MINUTE, STARTS, STOREFRONT_DEPLOY
from bot.demo.repository import RELEASES
from retrieval.ingest.case_folder import read_sources
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.model import CaseSources


async def sources_of(case: Path, scratch: Path) -> CaseSources:
    return await read_sources(case, redactor=throwaway_redactor(), scratch=scratch)


async def test_every_record_can_be_read(case: Path, tmp_path: Path) -> None:
    sources = await sources_of(case, tmp_path / "scratch")
    assert not sources.problems
    assert {span.service for span in sources.spans} == {"storefront", "checkout", "price"}
    assert {log.service for log in sources.logs} == {"storefront", "checkout", "price"}
    assert sources.series
    assert len(sources.tests) > 40
    assert len(sources.postmortems) == 2


async def test_only_the_canary_fails_and_only_after_it_was_rolled_out(case: Path, tmp_path: Path) -> None:
    sources = await sources_of(case, tmp_path / "scratch")
    failed = [span for span in sources.spans if span.service == "price" and span.failed]
    assert len(failed) >= 5
    assert {span.resource["service.version"] for span in failed} == {RELEASES.price_canary[:12]}
    assert min(span.start_ns for span in failed) > CANARY_DEPLOY
    assert sum(span.start_ns < ALERT for span in failed) >= 5
    assert any(s.resource["service.version"] == RELEASES.price_canary[:12] for s in sources.spans if not s.failed)


async def test_there_is_noise_that_is_older_than_the_incident(case: Path, tmp_path: Path) -> None:
    sources = await sources_of(case, tmp_path / "scratch")
    early = [log for log in sources.logs if log.time_ns < CANARY_DEPLOY]
    assert any(log.service == "price" and "rates feed" in log.body for log in early)
    assert any(log.service == "storefront" and "Exception on /products" in log.body for log in early)
    statuses = {span.attributes.get("http.response.status_code") for span in sources.spans}
    assert {404, 422} <= {int(str(status)) for status in statuses if status}


async def test_a_request_lies_within_the_one_that_made_it(case: Path, tmp_path: Path) -> None:
    sources = await sources_of(case, tmp_path / "scratch")
    by_id = {(span.trace_id, span.span_id): span for span in sources.spans}
    children = [(by_id[s.trace_id, s.parent_span_id], s) for s in sources.spans if s.parent_span_id]
    assert len(children) > 500
    assert all(parent.start_ns <= child.start_ns and child.end_ns <= parent.end_ns for parent, child in children)
    assert all(STARTS - MINUTE <= span.start_ns <= ENDS + MINUTE for span in sources.spans)


async def test_the_paperwork_tells_the_times_and_commits_of_the_plan(case: Path, tmp_path: Path) -> None:
    sources = await sources_of(case, tmp_path / "scratch")
    canary = next(d for d in sources.deploys if d.percent == 25)
    assert (canary.service, canary.git_sha, canary.previous_sha) == (
        "price",
        RELEASES.price_canary,
        RELEASES.price_good,
    )
    assert canary.started_ns == CANARY_DEPLOY
    assert any(d.started_ns == STOREFRONT_DEPLOY and d.git_sha == RELEASES.storefront for d in sources.deploys)
    assert any(flag.at_ns == FLAG_SWITCH for flag in sources.flags)
    (alert,) = parse_alert(read_alert(case), "alertmanager")
    assert (alert.service, alert.region) == ("checkout", "eu-west-1")
    assert 0 <= alert.starts_ns - ALERT < 10**9


def test_the_recording_is_small_and_names_no_machine(case: Path) -> None:
    assert len((files("bot.demo") / RECORDING).read_bytes()) <= 150 * 1024
    for path in (p for p in case.rglob("*") if p.is_file() and ".git" not in p.parts and "repos" not in p.parts):
        text = path.read_text(encoding="utf-8")
        for trace in ("/tmp/", "/home/", "/root/", "/var/", "127.0.0.1"):
            assert trace not in text, path


def test_the_same_files_make_the_same_archive(case: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        pack_recording(case, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_alert_has_alertmanagers_form(case: Path) -> None:
    alert = json.loads((case / "alert.json").read_text())
    assert alert["version"] == "4"
    assert {"groupKey", "truncatedAlerts", "receiver", "groupLabels", "commonLabels", "externalURL"} <= alert.keys()
