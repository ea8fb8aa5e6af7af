"""Incidents are told once, in place, whatever Slack or the process does."""

import asyncio
import contextlib
from typing import Any

import pytest
from msgspec.structs import replace

from bot.model import Posted
from bot.slack.errors import SlackError, SlackReason
from bot.slack.message import metadata
from bot.slack.thread import bundle_name
from retrieval.model import Verdict
from tests.bot.slack.fakes import Desk, MemoryLedger
from tests.bot.slack.house import House, house, said, until
from tests.bot.slack.views import at, looking, view, with_bundle


async def test_an_incident_is_one_message_edited_to_its_end() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(looking())
        await h.side.channel.show(looking(revision=2, known="2 suspects left"))
        await h.side.channel.show(view(revision=3))

        assert "Proof" in said(h.root())
        assert h.root()["metadata"] == metadata("inc-42", "root")
        assert len(h.workspace.calls("chat.postMessage")) == 1


async def test_showing_the_same_view_again_changes_nothing() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(view())
        before = len(h.workspace.state.calls)
        await h.side.channel.show(view())

        assert len(h.workspace.state.calls) == before


async def test_an_older_view_never_overwrites_a_newer_one() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(view(revision=9))
        await h.side.channel.show(looking(revision=8))
        await h.side.channel.show(view(at(Verdict.LEAD), revision=4))
        await h.side.channel.close()

        assert "Acquitted" in said(h.root())


async def test_progress_does_not_wait_for_slack_and_only_the_latest_is_sent() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(looking(revision=1))
        for revision in range(2, 30):
            await h.side.channel.show(looking(revision=revision, known=f"step {revision}"))
        assert not h.workspace.calls("chat.update")
        await h.side.channel.close()

        assert "step 29" in said(h.root())
        assert len(h.workspace.calls("chat.update")) <= 2


async def test_a_conclusion_is_sent_even_when_progress_fails() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(looking())
        h.workspace.plan("chat.update", "error", "invalid_auth")
        await h.side.channel.show(looking(revision=2, known="2 suspects left"))
        await h.side.channel.close()
        await h.side.channel.show(view(revision=3))

        assert "Proof" in said(h.root())


async def test_an_answer_that_was_lost_does_not_post_twice() -> None:
    async with house(Desk(view())) as h:
        h.workspace.plan("chat.postMessage", "drop_after")
        await h.side.channel.show(view())

        assert (await h.ledger.part("inc-42", "root")).ts == h.root()["ts"]


@pytest.mark.parametrize(
    ("fault", "value"),
    [("drop_before", ""), ("status", "503"), ("malformed", ""), ("error", "fatal_error"), ("ratelimited", "2")],
)
async def test_trouble_that_passes_is_overcome_with_one_message(fault: str, value: str) -> None:
    async with house(Desk(view())) as h:
        h.workspace.plan("chat.postMessage", fault, value, times=2)
        await h.side.channel.show(view())

        assert said(h.root())


async def test_slack_says_how_long_to_wait_and_is_obeyed() -> None:
    async with house(Desk(view())) as h:
        h.workspace.plan("chat.postMessage", "ratelimited", "7")
        await h.side.channel.show(view())

        assert max(h.waits) >= 7
        assert h.root()


async def test_what_cannot_be_repaired_is_raised_and_tried_again_by_the_next_call() -> None:
    async with house(Desk(view())) as h:
        h.workspace.plan("chat.postMessage", "error", "channel_not_found")
        with pytest.raises(SlackError) as raised:
            await h.side.channel.show(view())
        await h.side.channel.show(view())

        assert raised.value.reason is SlackReason.CHANNEL_NOT_FOUND
        assert said(h.root())


async def test_tries_end_and_the_last_error_is_told() -> None:
    async with house(Desk(view())) as h:
        h.workspace.plan("chat.postMessage", "status", "500", times=50)
        with pytest.raises(SlackError) as raised:
            await h.side.channel.show(view())

        assert raised.value.reason is SlackReason.UNAVAILABLE
        assert len(h.workspace.calls("chat.postMessage")) == 6


class _Dies(MemoryLedger):
    """A process that dies after so many writes."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    async def intend(self, posted: Posted) -> None:
        await self._write("intend", posted)

    async def sent(self, posted: Posted) -> None:
        await self._write("sent", posted)

    async def _write(self, what: str, posted: Posted) -> None:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.history.append((what, posted))
        self.kept[posted.incident_id, posted.part] = posted


async def _tell(h: House, bundled: Any) -> None:
    await h.side.channel.show(looking())
    await h.side.channel.show(bundled)
    await h.side.channel.deliver(bundled)


@pytest.mark.parametrize("writes", range(12))
async def test_a_crash_between_any_two_writes_leaves_one_of_each(writes: int, tmp_path: Any) -> None:
    bundled = with_bundle(view(), tmp_path / "b.zip", b"zip bytes")
    dying = _Dies(writes)
    async with house(Desk(bundled), ledger=dying) as h:
        with contextlib.suppress(KeyboardInterrupt):
            await _tell(h, bundled)
        dying.left = -1
        await _tell(h, bundled)

        root = h.root()
        parts = [
            m["metadata"]["event_payload"]["part"]
            for m in h.workspace.messages(thread_ts=root["ts"])
            if "metadata" in m
        ]
        files = [f["name"] for m in h.workspace.messages(thread_ts=root["ts"]) for f in m.get("files", [])]
        assert "Proof" in said(root)
        assert sorted(parts) == ["evidence", "patch", "test"]
        assert files == [bundle_name(bundled, bundled.bundle)]


async def test_a_message_of_somebody_else_is_not_taken_for_ours() -> None:
    async with house(Desk(view())) as h:
        forged = {
            "type": "message",
            "ts": "1.000001",
            "user": "U0EVE",
            "metadata": metadata("inc-42", "root"),
            "text": "x",
        }
        h.workspace.state.channels["C0INCIDENTS"].messages.append(forged)
        await h.ledger.intend(Posted(incident_id="inc-42", part="root", channel="C0INCIDENTS"))
        await h.side.channel.show(view())

        assert (await h.ledger.part("inc-42", "root")).ts != "1.000001"
        assert len(h.workspace.messages()) == 2


async def test_our_message_is_found_behind_many_others() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(view(revision=1))
        posted = await h.ledger.part("inc-42", "root")
        for number in range(450):
            ts = h.workspace.state.next_ts(0)
            h.workspace.state.channels["C0INCIDENTS"].messages.append({"ts": ts, "user": "U0ADA", "text": str(number)})
        await h.ledger.intend(replace(posted, ts=""))
        await h.side.channel.show(view(revision=2))

        assert (await h.ledger.part("inc-42", "root")).ts == posted.ts


async def test_a_deleted_message_does_not_take_the_conclusion_with_it() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(looking())
        h.workspace.state.channels["C0INCIDENTS"].messages.clear()
        await h.side.channel.show(looking(revision=2, known="x"))
        await h.side.channel.close()
        assert not h.workspace.messages()
        await h.side.channel.show(view(revision=3))
        await h.side.channel.deliver(view(revision=3))

        assert "Proof" in said(h.root())
        assert len(h.workspace.messages(thread_ts=h.root()["ts"])) == 3


async def test_the_thread_holds_evidence_test_patch_and_bundle(tmp_path: Any) -> None:
    bundled = with_bundle(view(), tmp_path / "b.zip", b"zip bytes")
    async with house(Desk(bundled)) as h:
        await h.side.channel.show(bundled)
        await h.side.channel.deliver(bundled)
        told = h.workspace.messages(thread_ts=h.root()["ts"])

        assert [said(m).split()[0] for m in told[:3]] == ["Evidence", "Test", "Patch"]
        assert "sha256 " + "01" * 8 in said(told[0]).replace("\n", " ")
        assert h.workspace.vault.content(told[3]["files"][0]["id"]) == b"zip bytes"


async def test_delivering_twice_adds_nothing_and_a_new_conclusion_edits(tmp_path: Any) -> None:
    first = with_bundle(view(at(Verdict.REPRODUCED), revision=1), tmp_path / "a.zip", b"first")
    second = with_bundle(view(revision=2), tmp_path / "b.zip", b"second")
    async with house(Desk(first)) as h:
        for shown in (first, first, second, second):
            await h.side.channel.show(shown)
            await h.side.channel.deliver(shown)
        told = h.workspace.messages(thread_ts=h.root()["ts"])

        assert [m["metadata"]["event_payload"]["part"] for m in told if "metadata" in m] == [
            "evidence",
            "test",
            "patch",
        ]
        assert len([m for m in told if m.get("files")]) == 2


async def test_delivering_before_showing_posts_the_root_first() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.deliver(view())

        assert "Proof" in said(h.root())
        assert len(h.workspace.messages(thread_ts=h.root()["ts"])) == 3


@pytest.mark.parametrize("refusal", ["file_uploads_except_images_disabled", "not_allowed_token_type"])
async def test_where_files_are_not_taken_a_note_says_where_the_bundle_is(refusal: str, tmp_path: Any) -> None:
    bundled = with_bundle(view(), tmp_path / "b.zip", b"zip bytes")
    async with house(Desk(bundled)) as h:
        h.workspace.state.uploads_refused = refusal
        await h.side.channel.deliver(bundled)
        await h.side.channel.deliver(bundled)
        (note,) = [m for m in h.workspace.messages(thread_ts=h.root()["ts"]) if said(m).startswith("Bundle")]

        assert "https://receipts.example.com/incidents/inc-42/bundle" in str(note["blocks"])
        assert bundled.bundle.sha256 in said(note)


async def test_a_note_whose_answer_was_lost_is_not_posted_again(tmp_path: Any) -> None:
    bundled = with_bundle(view(public_url=""), tmp_path / "b.zip", b"zip bytes")
    async with house(Desk(bundled)) as h:
        h.workspace.state.uploads_refused = "file_uploads_disabled"
        await h.side.channel.show(bundled)
        ledger = h.ledger.kept
        await h.side.channel.deliver(bundled)
        ledger["inc-42", "bundle"] = replace(ledger["inc-42", "bundle"], ts="")
        await h.side.channel.deliver(bundled)
        notes = [m for m in h.workspace.messages(thread_ts=h.root()["ts"]) if said(m).startswith("Bundle")]

        assert len(notes) == 1
        assert "public_url" in said(notes[0])


@pytest.mark.parametrize(
    ("method", "fault", "value"),
    [
        ("files.getUploadURLExternal", "status", "502"),
        ("upload", "status", "500"),
        ("files.completeUploadExternal", "drop_after", ""),
        ("files.completeUploadExternal", "drop_before", ""),
        ("files.completeUploadExternal", "ratelimited", "1"),
    ],
)
async def test_an_upload_that_stumbles_is_shared_once(method: str, fault: str, value: str, tmp_path: Any) -> None:
    bundled = with_bundle(view(), tmp_path / "b.zip", b"zip bytes")
    async with house(Desk(bundled)) as h:
        h.workspace.plan(method, fault, value)
        await h.side.channel.deliver(bundled)
        files = [f for m in h.workspace.messages(thread_ts=h.root()["ts"]) for f in m.get("files", [])]

        assert len(files) == 1


async def test_thirty_incidents_at_once_keep_to_slacks_rate(tmp_path: Any) -> None:
    async with house(Desk(view())) as h:
        views = [replace(view(), incident_id=f"inc-{n}") for n in range(30)]
        await asyncio.gather(*(h.side.channel.show(v) for v in views))

        assert len(h.workspace.messages()) == 30
        assert len({m["ts"] for m in h.workspace.messages()}) == 30


async def test_the_real_pace_is_never_refused() -> None:
    from bot.demo.workspace.server import Workspace

    clock = [1000.0]

    async def sleep(seconds: float) -> None:
        clock[0] += seconds
        await asyncio.sleep(0)

    from bot.slack.api import Backoff, SlackApi
    from bot.slack.delivery import SlackChannel
    from bot.slack.posting import Posting
    from bot.slack.turns import Turns

    workspace = Workspace(rate_limits=True, now=lambda: clock[0])
    await workspace.start()
    backoff = Backoff(sleep=sleep, random=lambda: 0.5)
    api = SlackApi("xoxb-demo", base_url=workspace.api_url, proxy=None, backoff=backoff)
    channel = SlackChannel(Posting(api, Turns(clock=lambda: clock[0], sleep=sleep)), MemoryLedger(), "C0INCIDENTS")
    for number in range(12):
        await channel.show(replace(view(), incident_id=f"inc-{number}"))
        await channel.deliver(replace(view(), incident_id=f"inc-{number}"))
    await api.close()
    await workspace.close()

    assert not [c for c in workspace.state.calls if "ratelimited" in c.answer]
    assert len(workspace.messages()) == 12


async def test_closing_waits_for_the_edit_under_way() -> None:
    async with house(Desk(view())) as h:
        await h.side.channel.show(looking())
        await h.side.channel.show(looking(revision=2, known="the last word"))
        await h.side.channel.close()
        await until(lambda: "the last word" in said(h.root()))
