"""Foreign text made harmless: from alerts, logs, commits and people it can neither mention, link nor format.

What is shown goes into `rich_text` and `plain_text`, which Slack does not parse; `clean` takes out what acts even there
(control and escape sequences, direction changes, invisible characters) and breaks mentions, so that a client or bridge
that parses anyway cannot be made to ping anyone. `mrkdwn` is for the few places that Slack does parse, the notification
text above all.
"""

import re
import unicodedata

ELLIPSIS = "…"

# CSI, OSC and the other escape sequences of ECMA-48, with 7-bit or 8-bit introducers.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"
    r"|\x1b.?",
    re.DOTALL,
)
_NEWLINES = re.compile(r"\r\n?|[\u0085\u2028\u2029\x0b\x0c]")
_SPACES = re.compile(r"\s+")
# Invisible although not of a category that is dropped as a whole: Hangul fillers, braille blank, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MENTION = re.compile(r"<(?=[!@#])")
_BROADCAST = re.compile(r"@(?=(?:here|channel|everyone)\b)", re.IGNORECASE)
_DROPPED = ("Cc", "Cf", "Cs", "Co", "Cn")
_TWINS = str.maketrans({"*": "∗", "~": "∼", "`": "ˋ"})
# `_` formats only where it stands at the edge of a word; identifiers keep theirs.
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")


def clean(text: str, *, keep_lines: bool = False) -> str:
    """Text that shows what it holds and does nothing else; one line unless `keep_lines`."""
    text = _NEWLINES.sub("\n", _ESCAPES.sub("", text))
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in _DROPPED)
    kept = _BROADCAST.sub("＠", _MENTION.sub("‹", _INVISIBLE.sub("", kept)))
    if not keep_lines:
        return _SPACES.sub(" ", kept).strip()
    return kept.strip("\n")


def cut(text: str, most: int) -> str:
    """At most `most` characters, ending in an ellipsis where something was left out, never inside a grapheme."""
    if len(text) <= most:
        return text
    end = max(most - 1, 0)
    while end > 0 and _continues(text, end):
        end -= 1
    return text[:end].rstrip() + ELLIPSIS if most > 0 else ""


def mrkdwn(text: str) -> str:
    """Foreign text for a field that Slack parses: escaped as https://docs.slack.dev/messaging/formatting-message-text
    asks, with look-alikes for the characters that format."""
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _EDGE_UNDERSCORE.sub("＿", text.translate(_TWINS))


def file_name(text: str) -> str:
    """A name for an upload that is no path and no option, whatever `text` holds."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", clean(text)).strip(".-")
    return name[:80] or "incident"


def web_address(text: str, most: int = 2000) -> str:
    """The address when it is a plain http(s) one without user information, else ""."""
    text = text.strip()
    plain = re.fullmatch(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][!-;=?-~]*)?", text)
    return text if plain and len(text) <= most else ""


def _continues(text: str, at: int) -> bool:
    """Whether the character at `at` belongs to the grapheme before it (combining marks, joiners, modifiers, flags)."""
    character = text[at]
    if unicodedata.combining(character) or character in "\u200d\ufe0f" or "\U0001f3fb" <= character <= "\U0001f3ff":
        return True
    if unicodedata.category(character) in ("Mn", "Me", "Mc") or text[at - 1] == "\u200d":
        return True
    return _is_flag(character) and _flags_before(text, at) % 2 == 1


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    count = 0
    while at - count > 0 and _is_flag(text[at - count - 1]):
        count += 1
    return count
