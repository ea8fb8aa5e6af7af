"""What can go wrong between us and Slack.

SlackError(reason, retry_after)
    retryable  the same call may succeed later
    unsure     nobody knows whether it took effect: look before doing it again

Foreign exceptions (slack_sdk, aiohttp, the operating system) become one of these in `mapped`, and only there.
"""

import asyncio
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

MAX_RETRY_AFTER = 300.0


class SlackReason(StrEnum):
    """Closed set; also the metric label."""

    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    UNREADABLE = "unreadable_answer"
    AUTH = "auth"
    MISSING_SCOPE = "missing_scope"
    NOT_IN_CHANNEL = "not_in_channel"
    CHANNEL_NOT_FOUND = "channel_not_found"
    ARCHIVED = "channel_archived"
    RESTRICTED = "posting_restricted"
    MESSAGE_GONE = "message_gone"
    TOO_LONG = "message_too_long"
    INVALID = "invalid_message"
    FILES_DISABLED = "file_uploads_disabled"
    EXPIRED_TRIGGER = "expired_trigger"
    BAD_CALL = "bad_call"
    REJECTED = "rejected"


_UNSURE = frozenset({SlackReason.TIMEOUT, SlackReason.UNAVAILABLE, SlackReason.UNREADABLE})
_RETRYABLE = _UNSURE | {SlackReason.RATE_LIMITED}

# Error names: https://docs.slack.dev/reference/methods/chat.postMessage, chat.update, files.*, views.open, July 2026.
_BY_NAME: dict[str, SlackReason] = {
    name: reason
    for reason, names in {
        SlackReason.RATE_LIMITED: "ratelimited rate_limited message_limit_exceeded",
        SlackReason.UNAVAILABLE: "internal_error fatal_error service_unavailable team_added_to_org request_timeout",
        SlackReason.AUTH: "invalid_auth not_authed token_revoked token_expired account_inactive org_login_required "
        "ekm_access_denied access_denied two_factor_setup_required enterprise_is_restricted team_access_not_granted",
        SlackReason.MISSING_SCOPE: "missing_scope no_permission not_allowed_token_type",
        SlackReason.NOT_IN_CHANNEL: "not_in_channel user_not_in_channel",
        SlackReason.CHANNEL_NOT_FOUND: "channel_not_found team_not_found user_not_found invalid_channel",
        SlackReason.ARCHIVED: "is_archived",
        SlackReason.RESTRICTED: "restricted_action restricted_action_read_only_channel restricted_action_thread_locked "
        "restricted_action_thread_only_channel restricted_action_non_threadable_channel posting_to_channel_denied "
        "cannot_reply_to_message messages_tab_disabled",
        SlackReason.MESSAGE_GONE: "message_not_found cant_update_message edit_window_closed thread_not_found "
        "cant_delete_message",
        SlackReason.TOO_LONG: "msg_too_long msg_blocks_too_long metadata_too_large view_too_large too_long",
        SlackReason.INVALID: "invalid_blocks invalid_blocks_format no_text invalid_metadata_format "
        "invalid_metadata_schema markdown_text_conflict invalid_message invalid_view metadata_must_be_sent_from_app "
        "too_many_attachments block_mismatch",
        SlackReason.FILES_DISABLED: "file_uploads_except_images_disabled file_uploads_disabled file_type_not_allowed "
        "blocked_file_type file_upload_size_restricted storage_limit_reached file_not_found "
        "malware_detected",
        SlackReason.EXPIRED_TRIGGER: "expired_trigger_id exchanged_trigger_id invalid_trigger_id trigger_expired",
        SlackReason.BAD_CALL: "invalid_arguments invalid_arg_name invalid_array_arg invalid_charset invalid_form_data "
        "invalid_post_type missing_post_type unknown_method deprecated_endpoint method_deprecated missing_argument "
        "invalid_json json_not_object",
    }.items()
    for name in names.split()
}


class SlackError(Exception):
    """`str()` of it is for logs. `name` is Slack's own word for it, "" where Slack said nothing."""

    def __init__(self, reason: SlackReason, *, method: str, name: str = "", retry_after: float | None = None) -> None:
        super().__init__(f"{method}: {reason}{f' ({name})' if name else ''}")
        self.reason = reason
        self.method = method
        self.name = name
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        return self.reason in _RETRYABLE

    @property
    def unsure(self) -> bool:
        return self.reason in _UNSURE


def mapped(error: BaseException, method: str) -> SlackError:
    """The one place where foreign exceptions are translated."""
    if isinstance(error, SlackError):
        return error
    if isinstance(error, SlackApiError):
        return _of_answer(error, method)
    if isinstance(error, asyncio.TimeoutError):
        return SlackError(SlackReason.TIMEOUT, method=method)
    if isinstance(error, aiohttp.ClientError | OSError):
        return SlackError(SlackReason.UNAVAILABLE, method=method, name=type(error).__name__)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | AttributeError | ValueError):
        return SlackError(SlackReason.UNREADABLE, method=method)
    if isinstance(error, SlackClientError):
        return SlackError(SlackReason.BAD_CALL, method=method, name=type(error).__name__)
    raise error


def of_name(name: str, method: str, retry_after: float | None = None) -> SlackError:
    """The error that Slack calls `name`; what is not known is `rejected`, never retried."""
    return SlackError(_BY_NAME.get(name, SlackReason.REJECTED), method=method, name=name[:80], retry_after=retry_after)


def of_status(status: int, method: str, headers: Mapping[str, Any]) -> SlackError:
    """An answer without a usable body."""
    if status == 429:
        return SlackError(SlackReason.RATE_LIMITED, method=method, retry_after=retry_after(headers))
    if status >= 500 or status == 408:
        return SlackError(SlackReason.UNAVAILABLE, method=method, name=f"http_{status}")
    if status == 200:
        return SlackError(SlackReason.UNREADABLE, method=method)
    return SlackError(SlackReason.REJECTED, method=method, name=f"http_{status}")


def retry_after(headers: Mapping[str, Any]) -> float:
    """Seconds that Slack asks to wait; 1 where the header is missing or broken, never over `MAX_RETRY_AFTER`."""
    text = str(next((value for name, value in headers.items() if name.lower() == "retry-after"), "")).strip()
    try:
        seconds = float(text)
    except ValueError:
        return 1.0
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if seconds == seconds else 1.0


def _of_answer(error: SlackApiError, method: str) -> SlackError:
    answer = error.response
    status = int(getattr(answer, "status_code", None) or getattr(answer, "status", None) or 200)
    headers = getattr(answer, "headers", None) or {}
    data = getattr(answer, "data", None)
    name = data.get("error") if isinstance(data, dict) else None
    if status == 429 or not isinstance(name, str) or not name or (status >= 500 and name not in _BY_NAME):
        return of_status(status, method, headers)
    return of_name(name, method, retry_after(headers) if _BY_NAME.get(name) is SlackReason.RATE_LIMITED else None)
