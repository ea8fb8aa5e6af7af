"""What people type and press reaches the right action, and they are told; strangers are turned away."""

import asyncio
import io
import json
import logging
import time
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from pydantic import SecretStr

from bot.demo.workspace.people import People, signed
from bot.demo.workspace.server import SIGNING_SECRET
from bot.model import Rerun
from bot.slack.app import Means, build_slack
from bot.slack.limits import validate_view
from retrieval.errors import BadInput
from retrieval.model import Verdict
from tests.bot.slack.fakes import Desk, MemoryLedger
from tests.bot.slack.house import House, Section, Settings, house, said, until
from tests.bot.slack.views import HOSTILE, at, looking, view, with_bundle


async def _post(url: str, body: Any, headers: dict[str, str]) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as answer:
        return answer.status, await answer.text()


async def _asked(h: House, text: str) -> str:
    """What a person is told who types `/triage TEXT`."""
    before = len(h.workspace.state.channels["C0INCIDENTS"].ephemeral)
    ack = await h.people.slash(text)
    assert (ack.status, ack.body) == (200, "") and ack.seconds < 3
    told = (await h.whispered(before + 1))[-1]
    return said(told)


async def test_slash_commands_are_acknowledged_and_answered() -> None:
    async with house(Desk(view())) as h:
        assert "/triage rerun" in await _asked(h, "help")
        assert "Acquitted" in await _asked(h, "status")
        assert "E1 log" in await _asked(h, "evidence inc-42")
        assert "There is no bundle of inc-42 yet." in await _asked(h, "bundle")
        assert "is not in this version" in await _asked(h, "ask why")
        assert "I can't read sttaus" in await _asked(h, "sttaus")
        assert "There is no incident inc-9" in await _asked(h, "status inc-9")
        assert "written like /triage --window 45m..15m" in await _asked(h, "rerun --window never")


async def test_a_bundle_is_named_with_digest_and_address(tmp_path: Any) -> None:
    async with house(Desk(with_bundle(view(), tmp_path / "b.zip", b"zip"))) as h:
        told = await _asked(h, "bundle")

        assert "download" in told and "3 bytes, sha256" in told and "receipts verify receipts-inc-42-" in told


async def test_a_channel_without_incidents_says_how_to_name_one() -> None:
    async with house(Desk(view())) as h:
        h.workspace.state.channels["C9"] = type(h.workspace.state.channels["C0INCIDENTS"])(id="C9", name="other")
        await h.people.slash("rerun", channel="C9")
        found = h.workspace.state.channels["C9"].ephemeral
        await until(lambda: found)

        assert "no incident in this channel yet" in said(found[0])


async def test_evidence_before_there_is_any() -> None:
    async with house(Desk(looking())) as h:
        assert "still looking" in await _asked(h, "evidence")
        assert "still looking" in await _asked(h, "bundle")


async def test_a_rerun_carries_every_option() -> None:
    async with house(Desk(view())) as h:
        told = await _asked(
            h, "rerun inc-42 --window 2h..5m --service checkout --as-of 2026-11-30T14:02 --snapshot s-1"
        )
        wish = Rerun(
            user="U0ADA",
            before="2h",
            after="5m",
            service="checkout",
            as_of_ns=1_796_047_320 * 10**9,
            snapshot="s-1",
        )

        assert h.desk.asked == [("rerun", "inc-42", wish)]
        assert told.startswith("Looking again at inc-42, window 2h..5m, service checkout, as of 2026-11-30 14:02 UTC")


async def test_feedback_by_command() -> None:
    async with house(Desk(view())) as h:
        assert "Noted: inc-42 was wrong, because of a1b2c3d." in await _asked(h, "feedback wrong a1b2c3d")
        assert h.desk.asked == [("feedback", "inc-42", "U0ADA", "wrong", "a1b2c3d")]


async def test_buttons_do_what_they_say() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(view())
        ts = h.root()["ts"]
        for number, action in enumerate(("bundle", "evidence", "rerun", "right", "wrong"), start=1):
            ack = await h.people.press(ts, f"receipts_{action}", user="U0ADA")
            assert (ack.status, ack.body) == (200, "") and ack.seconds < 3
            await h.whispered(number)

        assert h.desk.asked == [
            ("rerun", "inc-42", Rerun(user="U0ADA")),
            ("feedback", "inc-42", "U0ADA", "right", ""),
            ("feedback", "inc-42", "U0ADA", "wrong", ""),
        ]


async def test_the_overflow_looks_further_back() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(view())
        await h.people.press(h.root()["ts"], "receipts_more", option=1)
        await h.whispered()

        assert h.desk.asked == [("rerun", "inc-42", Rerun(user="U0ADA", before="24h"))]


async def test_what_is_missing_is_asked_in_a_modal_and_the_answer_counts() -> None:
    low = view(at(Verdict.INSUFFICIENT))
    async with house(Desk(low)) as h:
        await h.side.channel.show(low)
        await h.people.press(h.root()["ts"], "receipts_missing")
        await until(lambda: h.workspace.state.views)
        (modal,) = h.workspace.state.views.values()
        first, second = (b["block_id"] for b in modal["blocks"])
        assert modal["private_metadata"] == "inc-42"

        empty = await h.people.submit(modal["id"], {first: "   "})
        assert empty.data == {
            "response_action": "errors",
            "errors": {first: "Fill in at least one field, or close this."},
        }
        assert h.desk.asked == []

        sent = await h.people.submit(modal["id"], {first: " s3://logs/checkout ", second: ""})
        await h.whispered()
        assert (sent.status, sent.body) == (200, "")
        assert h.desk.asked == [("answer", "inc-42", "U0ADA", "logs of checkout", "s3://logs/checkout")]


async def test_a_modal_for_which_nothing_is_missing_any_more_says_so() -> None:
    low = view(at(Verdict.LEAD))
    async with house(Desk(low)) as h:
        await h.side.channel.show(low)
        h.desk.shows(case=at(Verdict.PROVED))
        await h.people.press(h.root()["ts"], "receipts_missing")
        await until(lambda: h.workspace.state.views)
        (modal,) = h.workspace.state.views.values()

        assert validate_view({k: v for k, v in modal.items() if k not in ("id", "app_id", "hash")}) == []
        assert "Nothing is missing any more" in str(modal["blocks"])
        assert (await h.people.submit(modal["id"], {})).status == 200


async def test_the_modal_of_an_unknown_incident_is_refused_in_words() -> None:
    low = view(at(Verdict.LEAD))
    async with house(Desk(low)) as h:
        await h.side.channel.show(low)
        h.desk.shows(incident_id="inc-other")
        await h.people.press(h.root()["ts"], "receipts_missing")

        assert "There is no incident inc-42" in said((await h.whispered())[0])


async def test_in_a_thread_a_mention_means_the_threads_incident_and_counts_once() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(view())
        ts = h.root()["ts"]
        for _ in range(3):
            ack = await h.people.mention("rerun --window 2h", thread_ts=ts, event_id="Ev1")
            assert ack.status == 200
        await h.people.mention("status", thread_ts=ts)
        told = await h.whispered(2)

        assert h.desk.asked == [("rerun", "inc-42", Rerun(user="U0ADA", before="2h"))]
        assert {m["thread_ts"] for m in told} == {ts}


async def test_a_mention_outside_a_thread_means_the_channels_latest() -> None:
    async with house(Desk(view())) as h:
        await h.people.mention("feedback right")
        await h.whispered()

        assert h.desk.asked == [("feedback", "inc-42", "U0ADA", "right", "")]


async def test_what_means_nothing_to_us_is_acknowledged() -> None:
    async with house(Desk(view())) as h:
        event = await h.people.event({"type": "reaction_added", "user": "U0ADA", "reaction": "eyes"})
        await h.side.channel.show(view())
        h.root()["blocks"][-1]["elements"][0]["action_id"] = "from_another_version"
        press = await h.people.press(h.root()["ts"], "from_another_version")

        assert (event.status, press.status) == (200, 200)


@pytest.mark.parametrize("way", ["command", "press", "mention", "submit"])
async def test_a_failure_behind_is_told_with_a_reference_and_without_details(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "bot.slack")
    low = view(at(Verdict.LEAD))
    async with house(Desk(low)) as h:
        await h.side.channel.show(low)
        await h.people.press(h.root()["ts"], "receipts_missing")
        await until(lambda: h.workspace.state.views)
        h.desk.raises = RuntimeError("password=hunter2")
        if way == "command":
            await h.people.slash("status")
        elif way == "press":
            await h.people.press(h.root()["ts"], "receipts_right")
        elif way == "mention":
            await h.people.mention("status")
        else:
            view_id, modal = next(iter(h.workspace.state.views.items()))
            await h.people.submit(view_id, {modal["blocks"][0]["block_id"]: "x"})
        told = said((await h.whispered())[0])

        assert "That did not work" in told and "hunter2" not in told
        assert any(record.getMessage().split("(")[1][:8] in told for record in caplog.records)


async def test_an_answer_whose_address_expired_is_whispered_instead() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(view())
        h.workspace.response_url = lambda channel, user: h.workspace.base_url + "response/gone"  # type: ignore[method-assign]
        await h.people.press(h.root()["ts"], "receipts_right")
        await h.people.slash("help")
        told = await h.whispered(2)

        assert "Noted" in said(told[0]) and "/triage status" in said(told[1])


async def test_acknowledgement_does_not_wait_for_slow_work_nor_for_slack_itself() -> None:
    class Slow(Desk):
        async def view(self, incident_id: str) -> Any:
            await released.wait()
            return await super().view(incident_id)

    released = asyncio.Event()
    async with house(Slow(view())) as h:
        h.workspace.plan("auth.test", "status", "503", times=9)
        ack = await h.people.slash("status")
        assert ack.status == 200 and ack.seconds < 2
        released.set()

        assert "Acquitted" in said((await h.whispered())[0])


async def test_hostile_words_come_back_harmless() -> None:
    async with house(Desk(view())) as h:
        for text in (HOSTILE, "status " + HOSTILE, "rerun --service " + HOSTILE):
            await h.people.slash(text)
        told = json.dumps(await h.whispered(3), ensure_ascii=False)

        assert not any(form in told for form in ("<!", "<@", "@here", "\u202e", "\u200b"))


async def test_url_verification_is_answered() -> None:
    async with house(Desk(view())) as h:
        body = json.dumps({"type": "url_verification", "challenge": "c0ffee", "token": "x"}).encode()
        headers = {**signed(body, at=time.time()), "Content-Type": "application/json"}
        status, text = await _post(h.url, body, headers)

        assert status == 200 and json.loads(text) == {"challenge": "c0ffee"}


BODY = urlencode({"command": "/triage", "text": "rerun", "channel_id": "C0INCIDENTS", "user_id": "U1"}).encode()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"X-Slack-Request-Timestamp": ""}, "unsigned"),
        ({"X-Slack-Signature": ""}, "unsigned"),
        ({"X-Slack-Request-Timestamp": "yesterday"}, "bad timestamp"),
        ({"X-Slack-Request-Timestamp": "1e9"}, "bad timestamp"),
        ({"X-Slack-Request-Timestamp": "-1"}, "bad timestamp"),
        ({"X-Slack-Request-Timestamp": "９９９"}, "bad timestamp"),
        ({"X-Slack-Request-Timestamp": "9" * 40}, "bad timestamp"),
        ({"X-Slack-Request-Timestamp": "1"}, "stale timestamp"),
        ({"X-Slack-Request-Timestamp": "999999999999"}, "stale timestamp"),
        ({"X-Slack-Signature": "v0=zz"}, "bad signature"),
        ({"X-Slack-Signature": "v0=" + "0" * 64}, "bad signature"),
    ],
)
async def test_a_stranger_is_turned_away_without_a_trace(
    change: dict[str, str], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with house(Desk(view())) as h:
        headers = {**signed(BODY, at=time.time()), "Content-Type": "application/x-www-form-urlencoded", **change}
        status, text = await _post(h.url, BODY, {k: v for k, v in headers.items() if v})

        assert status == 401 and json.loads(text) == {"error": reason}
        assert h.desk.asked == []
        assert "Traceback" not in caplog.text and "rerun" not in caplog.text


@pytest.mark.parametrize("age", [-301, 301])
async def test_a_signature_is_good_for_five_minutes_either_way(age: int) -> None:
    async with house(Desk(view())) as h:
        status, _ = await _post(h.url, BODY, signed(BODY, at=time.time() - age))

        assert status == 401


async def test_a_wrong_secret_is_turned_away() -> None:
    async with house(Desk(view())) as h:
        stranger = People(h.workspace, h.url, secret=SIGNING_SECRET + "x")

        assert (await stranger.slash("rerun")).status == 401
        assert h.desk.asked == []


async def test_a_body_over_the_cap_or_not_text_is_refused() -> None:
    async with house(Desk(view())) as h:
        big = b"x" * (1024 * 1024 + 1)

        async def drip() -> Any:
            for _ in range(20):
                yield big[:100_000]

        broken = b"\xff\xfe"
        assert (await _post(h.url, io.BytesIO(big), signed(big, at=time.time())))[0] == 413
        assert (await _post(h.url, drip(), signed(b"", at=time.time())))[0] == 413
        assert (await _post(h.url, broken, signed(broken, at=time.time())))[0] == 400
        for kind, cut in (("application/json", b'{"type": '), ("application/x-www-form-urlencoded", b"payload=%5B1")):
            headers = {**signed(cut, at=time.time()), "Content-Type": kind}
            assert await _post(h.url, cut, headers) == (400, '{"error": "unreadable body"}')


async def test_socket_mode_serves_the_same_listeners() -> None:
    async with house(Desk(view()), socket=True) as h:
        assert h.side.handler is None
        await until(lambda: h.workspace.sockets)
        ack = await h.people.slash("feedback right")
        await h.side.channel.show(view())
        pressed = await h.people.press(h.root()["ts"], "receipts_rerun")
        await h.whispered(2)

        assert ack.seconds < 3 and pressed.seconds < 3
        assert [asked[0] for asked in h.desk.asked] == ["feedback", "rerun"]


async def test_socket_mode_keeps_trying_while_slack_is_away() -> None:
    from bot.demo.workspace.server import Workspace

    workspace = Workspace()
    await workspace.start()
    workspace.plan("apps.connections.open", "status", "503")
    workspace.plan("apps.connections.open", "error", "internal_error")
    async with house(Desk(view()), socket=True, workspace=workspace) as h:
        await until(lambda: workspace.sockets)

        assert (await h.people.slash("help")).status == 200


@pytest.mark.parametrize(
    ("missing", "key"),
    [
        ({"bot_token": SecretStr("")}, "slack.bot_token"),
        ({"channel": ""}, "slack.channel"),
        ({"signing_secret": SecretStr("")}, "slack.signing_secret"),
    ],
)
async def test_a_missing_setting_is_named_with_the_remedy(missing: dict[str, Any], key: str) -> None:
    section = Section(api_url="http://127.0.0.1:1/api", **missing)
    with pytest.raises(BadInput) as raised:
        await build_slack(Settings(slack=section), Desk(view()), MemoryLedger(), Means(environment={}))

    assert raised.value.subject == key and raised.value.remedy


async def test_who_may_not_see_an_incident_is_told_so_and_nothing_of_it() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(h.desk.shown)
        h.desk.strangers.add("U0STRANGER")
        wishes = ("status", "evidence inc-42", "bundle", "rerun", "feedback inc-42 right")
        for number, words in enumerate(wishes, start=1):
            await h.people.slash(words, user="U0STRANGER")
            told = said((await h.whispered(number))[-1])
            assert told.startswith("You may not see")
            assert "price" not in told
            assert "E1" not in told
        ts = h.root()["ts"]
        for number, action in enumerate(("evidence", "rerun", "wrong"), start=6):
            await h.people.press(ts, f"receipts_{action}", user="U0STRANGER")
            assert said((await h.whispered(number))[-1]).startswith("You may not see")
        assert h.desk.asked == []


@pytest.mark.parametrize(
    "body", ["-1", "[[]]", '"x"', "null", '{"event": []}', '{"event": 1, "type": []}', "payload=[]", "[" * 5_000]
)
async def test_a_signed_body_of_no_shape_that_slack_has_is_refused_with_the_reason(body: str) -> None:
    async with house(Desk(view())) as h:
        kind = "application/x-www-form-urlencoded" if body.startswith("payload") else "application/json"
        headers = {"Content-Type": kind, **signed(body.encode(), at=time.time())}
        status, text = await _post(h.url, body.encode(), headers)
        assert status in (400, 404)
        assert text
