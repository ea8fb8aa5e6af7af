"""`name=value` and `name: value` inside text: query strings, logfmt, JSON, YAML, SQL, headers, command lines (pure)."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from retrieval.ingest.redaction.keys import NAMES_IN_TEXT, holds_nothing, looks_like_key, strength, words
from retrieval.ingest.redaction.pseudonyms import MAIL_DOMAIN, is_pseudonym, starts_pseudonym

HINTS = ("pass", "pwd", "secret", "token", "key", "auth", "cookie", "credential", "sess", "csrf", "xsrf", "cvv", "cvc",
         "ssn", "social", "jwt", "sig", "sas", "hmac", "api")  # fmt: skip

_NAME = re.compile(rf"(?i){NAMES_IN_TEXT}(?=\\?[\"']?\]?\s{{0,3}}(?:=>|[:=]))")
_SEPARATOR = re.compile(r"(?P<close>\\?[\"']?\]?)(?P<sep>\s{0,3}(?:=>|==?|:)\s{0,3})")
_VALUE = re.compile(
    r"(?P<quote>\\\"|\\'|[bru]?\"|[bru]?')(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){0,4000})"
    r"|(?P<scheme>(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate)\s+)?(?P<bare>[^\s,;&\"'<>(){}\[\]\\]+)",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"[^\n\"'\\]{1,4000}")
_SCHEME = re.compile(r"(?i)(Bearer|Basic|Token|Digest|ApiKey|Negotiate)\s+")
_CODE = re.compile(r"(?:self|this|cls|settings|config|cfg|conf|os|env|args|options|request|app|current_app|ctx)\.\w")
_NAME_CHARACTERS = re.compile(r"[\w.-]{1,60}$")


class Field(Struct, frozen=True):
    """Where the value of a secret field stands in a text."""

    start: int
    end: int


def secret_fields(text: str) -> Iterator[Field]:
    """The values to be replaced, in order, none overlapping."""
    at = 0
    while name := _NAME.search(text, at):
        at = name.end()
        found = _field(text, name)
        if found is not None:
            yield found
            at = found.end


def _field(text: str, name: re.Match[str]) -> Field | None:
    before = _NAME_CHARACTERS.search(text[max(0, name.start() - 60) : name.start()])
    full = (before.group(0) if before else "") + name.group(0)
    if starts_pseudonym(text, name.end() - len(full)) or starts_pseudonym(text, name.start()):
        return None
    strong = strength(full)
    separator = _SEPARATOR.match(text, name.end()) if strong else None
    if separator is None:
        return None
    if words(full).endswith("cookie") and (whole := _COOKIES.match(text, separator.end())):
        return Field(whole.start(), whole.end()) if _wanted(whole.group(0), full, strong) else None
    value = _VALUE.match(text, separator.end())
    if value is None:
        return None
    if value["quote"]:
        return _quoted(value, full, strong)
    return _bare(text, value, full, strong, separator)


def _quoted(value: re.Match[str], full: str, strong: str) -> Field | None:
    start, end = value.span("quoted")
    if scheme := _SCHEME.match(value["quoted"]):
        start += scheme.end()
    return Field(start, end) if _wanted(value.string[start:end], full, strong) else None


def _bare(text: str, value: re.Match[str], full: str, strong: str, separator: re.Match[str]) -> Field | None:
    bare = value["bare"]
    following = text[value.end() : value.end() + 1]
    if _CODE.match(bare) or following in ("(", "[") or _repeats_name(bare, full):
        return None
    colon = ":" in separator["sep"] and not separator["close"] and not value["scheme"]
    if colon and bare.replace("-", "").isalpha() and not _line_of_its_own(text, full, value):
        return None  # prose: "password: must be longer"
    start, end = value.span("bare")
    if strong == "strong" and end - start > 1 and text[end - 1] in ".:" and following in ("", " ", "\n"):
        end -= 1
    return Field(start, end) if _wanted(text[start:end], full, strong) else None


def _repeats_name(bare: str, full: str) -> bool:
    """`password=password`, `token=access_token`: source code that passes a variable on."""
    return bare.isidentifier() and (words(bare) == words(full) or strength(bare) == "strong") and not bare.isdigit()


def _line_of_its_own(text: str, full: str, value: re.Match[str]) -> bool:
    start = text.rfind("\n", 0, value.start()) + 1
    end = text.find("\n", value.end())
    line = text[start : end if end >= 0 else len(text)]
    return line.strip().startswith(full) and line.rstrip().endswith(value["bare"])


def _wanted(value: str, full: str, strong: str) -> bool:
    if holds_nothing(value) or is_pseudonym(value) or value.endswith(f"@{MAIL_DOMAIN}"):
        return False
    return strong == "strong" or looks_like_key(value)


def replace_fields(text: str, pseudonym: Callable[[str], str]) -> str:
    parts, at = [], 0
    for field in secret_fields(text):
        parts += [text[at : field.start], pseudonym(text[field.start : field.end])]
        at = field.end
    return "".join([*parts, text[at:]]) if parts else text
