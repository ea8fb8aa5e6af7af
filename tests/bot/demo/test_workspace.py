"""The workspace refuses what Slack refuses, and remembers."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.demo.workspace.server import BOT_TOKEN, Workspace

CHANNEL = "C0INCIDENTS"


class _Client:
    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.session = aiohttp.ClientSession()

    async def call(self, method: str, *, token: str = BOT_TOKEN, **arguments: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"{self.workspace.api_url}/{method}"
        async with self.session.post(url, json=arguments, headers=headers) as answer:
            told: dict[str, Any] = await answer.json()
            return {**told, "status": answer.status, "retry_after": answer.headers.get("Retry-After")}

    async def error(self, method: str, **arguments: Any) -> str:
        return str((await self.call(method, **arguments)).get("error", ""))


@pytest.fixture
async def slack() -> Any:
    workspace = Workspace()
    await workspace.start()
    client = _Client(workspace)
    yield client
    await client.session.close()
    await workspace.close()


async def test_tokens_are_checked(slack: _Client) -> None:
    assert await slack.error("auth.test", token="") == "not_authed"
    assert await slack.error("auth.test", token="xoxb-other") == "invalid_auth"
    assert await slack.error("apps.connections.open") == "invalid_auth"
    assert (await slack.call("auth.test"))["user_id"] == "U0RECEIPTS"


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("chat.sing", {}, "unknown_method"),
        ("chat.postMessage", {"text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": "C404", "text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": CHANNEL}, "no_text"),
        ("chat.postMessage", {"channel": CHANNEL, "text": 5}, "invalid_arguments"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x" * 40_001}, "msg_too_long"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x", "txt": "y"}, "invalid_arg_name"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x", "thread_ts": "1.0"}, "thread_not_found"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x", "blocks": "x"}, "invalid_blocks_format"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x", "blocks": [{"type": "divider"}] * 51}, "invalid_blocks"),
        ("chat.postMessage", {"channel": CHANNEL, "text": "x", "blocks": [{"type": "sectoin"}]}, "invalid_blocks"),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "text": "x", "metadata": {"event_type": "x"}},
            "invalid_metadata_format",
        ),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "text": "x", "metadata": {"event_type": "", "event_payload": {}}},
            "invalid_metadata_schema",
        ),
        (
            "chat.postMessage",
            {"channel": CHANNEL, "text": "x", "metadata": {"event_type": "x", "event_payload": {"a": "b" * 20_000}}},
            "metadata_too_large",
        ),
        ("chat.update", {"channel": CHANNEL, "text": "x"}, "message_not_found"),
        ("chat.update", {"channel": CHANNEL, "ts": "1.0", "text": "x"}, "message_not_found"),
        ("chat.delete", {"channel": CHANNEL, "ts": "1.0"}, "message_not_found"),
        ("chat.postEphemeral", {"channel": CHANNEL, "user": "U404", "text": "x"}, "user_not_in_channel"),
        ("conversations.history", {"channel": CHANNEL, "limit": 5000}, "invalid_limit"),
        ("conversations.history", {"channel": CHANNEL, "cursor": "x"}, "invalid_cursor"),
        ("conversations.replies", {"channel": CHANNEL, "ts": "1.0"}, "thread_not_found"),
        ("conversations.info", {"channel": "C404"}, "channel_not_found"),
        ("files.getUploadURLExternal", {"filename": "x", "length": "many"}, "invalid_arguments"),
        ("files.completeUploadExternal", {"files": "x"}, "invalid_arguments"),
        ("files.completeUploadExternal", {"files": [{"id": "F404"}]}, "file_not_found"),
        ("views.open", {"view": {"type": "modal"}, "trigger_id": "x"}, "invalid_trigger_id"),
        ("reactions.add", {"channel": CHANNEL, "timestamp": "1.0", "name": "eyes"}, "message_not_found"),
        ("blocks.validate", {}, "invalid_arguments"),
        ("blocks.validate", {"blocks": [{"type": "x"}]}, "invalid_blocks"),
        ("blocks.validate", {"view": {"type": "modal", "blocks": []}}, "invalid_view"),
        ("blocks.validate", {"message": {"blocks": [{"type": "divider"}]}}, ""),
    ],
)
async def test_it_refuses_by_name(slack: _Client, method: str, arguments: dict[str, Any], error: str) -> None:
    assert await slack.error(method, **arguments) == error


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([{"type": "section", "text": {"type": "mrkdwn", "text": ""}}], "invalid_blocks"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "invalid_blocks"),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 2900}}] * 5, "msg_blocks_too_long"),
        ([{"type": "actions", "elements": [{"action_id": "a"}, {"action_id": "a"}]}], "invalid_blocks"),
        ([{"type": "actions", "elements": [{"action_id": "a", "value": "x" * 2001}]}], "invalid_blocks"),
    ],
)
async def test_blocks_are_counted_a_second_time(slack: _Client, blocks: list[Any], error: str) -> None:
    assert await slack.error("chat.postMessage", channel=CHANNEL, text="x", blocks=blocks) == error


async def test_channels_can_be_closed_to_the_bot(slack: _Client) -> None:
    channel = slack.workspace.state.channels[CHANNEL]
    channel.members.remove("U0RECEIPTS")
    assert await slack.error("chat.postMessage", channel=CHANNEL, text="x") == "not_in_channel"
    channel.archived = True
    assert await slack.error("chat.postMessage", channel=CHANNEL, text="x") == "is_archived"
    assert (await slack.call("conversations.info", channel=CHANNEL))["channel"]["is_archived"]


async def test_messages_are_kept_edited_reacted_to_and_deleted_by_their_author(slack: _Client) -> None:
    posted = await slack.call("chat.postMessage", channel=CHANNEL, text="one")
    reply = await slack.call("chat.postMessage", channel=CHANNEL, text="two", thread_ts=posted["ts"])
    assert (
        await slack.error("chat.postMessage", channel=CHANNEL, text="x", thread_ts=reply["ts"])
        == "cannot_reply_to_message"
    )
    await slack.call("chat.update", channel=CHANNEL, ts=posted["ts"], text="three")
    assert await slack.error("chat.update", channel=CHANNEL, ts=posted["ts"], text="x" * 4001) == "msg_too_long"
    assert (
        await slack.error("reactions.add", channel=CHANNEL, timestamp=posted["ts"], name="Not a name") == "invalid_name"
    )
    assert await slack.error("reactions.add", channel=CHANNEL, timestamp=posted["ts"], name="eyes") == ""
    assert await slack.error("reactions.add", channel=CHANNEL, timestamp=posted["ts"], name="eyes") == "already_reacted"
    slack.workspace.state.channels[CHANNEL].messages.append({"ts": "5.0", "user": "U0ADA", "text": "mine"})
    assert await slack.error("chat.update", channel=CHANNEL, ts="5.0", text="x") == "cant_update_message"
    assert await slack.error("chat.delete", channel=CHANNEL, ts="5.0") == "cant_delete_message"
    history = await slack.call("conversations.history", channel=CHANNEL)
    assert [m["text"] for m in history["messages"]] == ["mine", "three"]
    await slack.call("chat.delete", channel=CHANNEL, ts=reply["ts"])

    assert [m["text"] for m in slack.workspace.messages()] == ["three", "mine"]


async def test_history_is_paged_and_metadata_only_shown_on_request(slack: _Client) -> None:
    metadata = {"event_type": "t", "event_payload": {"a": "b"}}
    for number in range(5):
        await slack.call("chat.postMessage", channel=CHANNEL, text=str(number), metadata=metadata)
    first = await slack.call("conversations.history", channel=CHANNEL, limit=2)
    cursor = first["response_metadata"]["next_cursor"]
    second = await slack.call(
        "conversations.history", channel=CHANNEL, limit=9, cursor=cursor, include_all_metadata="true"
    )

    assert [m["text"] for m in first["messages"]] == ["4", "3"] and "metadata" not in first["messages"][0]
    assert [m["text"] for m in second["messages"]] == ["2", "1", "0"] and second["messages"][0]["metadata"] == metadata


async def test_times_only_go_forward(slack: _Client) -> None:
    slack.workspace.now = lambda: 1000.0
    stamps = [(await slack.call("chat.postMessage", channel=CHANNEL, text="x"))["ts"] for _ in range(3)]

    assert stamps == ["1000.000000", "1000.000001", "1000.000002"]


async def test_an_upload_has_its_announced_length_once_and_carries_no_token(slack: _Client) -> None:
    given = await slack.call("files.getUploadURLExternal", filename="b.zip", length="3")
    url = given["upload_url"]

    async def put(body: bytes, **headers: str) -> int:
        async with slack.session.post(url, data=body, headers=headers) as answer:
            return answer.status

    assert await put(b"abc", Authorization="Bearer x") == 400
    assert await put(b"ab") == 400
    assert await slack.error("files.completeUploadExternal", files=[{"id": given["file_id"]}]) == "file_not_found"
    assert await put(b"abc") == 200
    assert await put(b"abc") == 410
    url = slack.workspace.base_url + "upload/F404"
    assert await put(b"abc") == 404
    done = await slack.call("files.completeUploadExternal", files=json.dumps([{"id": given["file_id"], "title": "T"}]))
    assert done["files"] == [{"id": given["file_id"], "title": "T"}]


async def test_a_trigger_works_once_and_for_three_seconds(slack: _Client) -> None:
    title = {"type": "plain_text", "text": "t"}
    view = {"type": "modal", "title": title, "blocks": [{"type": "divider"}]}
    trigger, late, bad = (slack.workspace.trigger() for _ in range(3))
    assert await slack.error("views.open", view=view, trigger_id=trigger) == ""
    assert await slack.error("views.open", view=view, trigger_id=trigger) == "exchanged_trigger_id"
    assert await slack.error("views.open", view={"type": "modal", "blocks": []}, trigger_id=bad) == "invalid_arguments"
    now = time.time()
    slack.workspace.now = lambda: now + 4
    assert await slack.error("views.open", view=view, trigger_id=late) == "expired_trigger_id"


async def test_an_answer_address_works_five_times(slack: _Client) -> None:
    url = slack.workspace.response_url(CHANNEL, "U0ADA")
    statuses = []
    for payload in ({"text": ""}, *[{"text": "x"}] * 5):
        async with slack.session.post(url, json=payload) as answer:
            statuses.append(answer.status)

    assert statuses == [400, 200, 200, 200, 200, 404]


async def test_who_writes_too_fast_is_told_how_long_to_wait(slack: _Client) -> None:
    slack.workspace.rate_limits = True
    answers = [await slack.call("chat.postMessage", channel=CHANNEL, text="x") for _ in range(5)]
    clock = time.time()
    slack.workspace.now = lambda: clock + 5

    assert [a["status"] for a in answers] == [200, 200, 200, 200, 429]
    assert 1 <= int(answers[-1]["retry_after"]) <= 4
    assert (await slack.call("chat.postMessage", channel=CHANNEL, text="x"))["ok"]
    assert (await slack.call("auth.test"))["ok"]


async def test_faults_are_planned_by_name_from_outside_too(slack: _Client) -> None:
    with pytest.raises(ValueError, match="no such fault"):
        slack.workspace.plan("auth.test", "explode")
    wish = {"method": "auth.test", "fault": "error", "value": "account_inactive"}
    async with slack.session.post(slack.workspace.base_url + "workspace/faults", json=wish) as answer:
        assert answer.status == 200

    assert await slack.error("auth.test") == "account_inactive"
    assert (await slack.call("auth.test"))["ok"]


async def test_the_transcript_and_the_picture_can_be_fetched(slack: _Client) -> None:
    await slack.call("chat.postMessage", channel=CHANNEL, text="hello there")
    base = slack.workspace.base_url + "workspace/"
    async with slack.session.get(base + "transcript") as answer:
        transcript = await answer.json()
    async with slack.session.get(base + f"channels/{CHANNEL}.svg") as answer:
        picture = await answer.text()
    async with slack.session.get(base + "channels/C404.svg") as answer:
        assert answer.status == 404

    assert transcript["calls"][0]["method"] == "chat.postMessage" and transcript["calls"][0]["answer"] == "ok"
    assert "hello" in picture and picture.startswith("<svg")


async def test_a_process_of_its_own_remembers_when_it_is_started_again(tmp_path: Path) -> None:
    state = tmp_path / "workspace.json"
    for expected in ([], ["kept"]):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot.demo.workspace", "--state", str(state), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        api_url = (await process.stdout.readline()).decode().strip()
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            async with session.get(f"{api_url}/conversations.history?channel={CHANNEL}") as answer:
                assert [m["text"] for m in (await answer.json())["messages"]] == expected
            if not expected:
                await (
                    await session.post(f"{api_url}/chat.postMessage", data={"channel": CHANNEL, "text": "kept"})
                ).read()
        process.terminate()
        assert await process.wait() == 0


async def test_uploads_are_kept_beside_the_state(tmp_path: Path) -> None:
    for _ in range(2):
        workspace = Workspace(tmp_path / "w.json")
        await workspace.start()
        client = _Client(workspace)
        given = await client.call("files.getUploadURLExternal", filename="b.zip", length="3")
        await (await client.session.post(given["upload_url"], data=b"abc")).read()
        await client.session.close()
        await workspace.close()

        assert workspace.vault.content(given["file_id"]) == b"abc"
    assert len(workspace.state.files) == 2
