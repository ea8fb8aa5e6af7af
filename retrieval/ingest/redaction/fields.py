"""`name=value` and `name: value` inside text: query strings, logfmt, JSON, YAML, SQL, headers, command lines (pure)."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from retrieval.ingest.redaction.keys import NAMES_IN_TEXT, holds_nothing, looks_like_key, strength, words
from retrieval.ingest.redaction.pseudonyms import MAIL_DOMAIN, is_pseudonym, starts_pseudonym

HINTS = ("pass", "pwd", "secret", "token", "key", "auth", "cookie", "credential", "sess", "csrf", "xsrf", "cvv", "cvc",
         "ssn", "social", "jwt", "sig", "sas", "hmac", "api")  # fmt: skip

_NAME = re.compile(rf"(?i){NAMES_IN_TEXT}(?=\\?[\"']?\]?\s{{0,3}}(?:=>|=(?!=)|:(?![:=])))")
_SIGN = re.compile(r"[=:]")
_REACH = 100  # characters between the beginning of a name and the sign after it
_SEPARATOR = re.compile(r"(?P<close>\\?[\"']?\]?)(?P<sep>\s{0,3}(?:=>|=|:)\s{0,3})")
_VALUE = re.compile(
    r"(?:[bruf]{0,2}(?P<quote>\\\"|\\'|\"|')(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){0,4000})(?P<closed>(?P=quote))?)"
    r"|(?P<scheme>(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate)\s+)?(?P<bare>[^\s,;&\"'<>(){}\[\]\\]{1,4000})",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"[\w!#$%&*+.^`|~-]+=[^\n\"'\\]{1,4000}")
_SCHEME = re.compile(r"(?i)(Bearer|Basic|Token|Digest|ApiKey|Negotiate)\s+")
_NAME_CHARACTERS = re.compile(r"[\w.-]{1,60}\Z")
# Source code stands in tracebacks and diffs, and is no secret: `token=self.token`, `password: str`, `secret = await x`.
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\.?")
_WORDS = re.compile(r"[A-Za-z_-]+[.:]?")
_KEYWORDS = frozenset(
    (
        "await",
        "yield",
        "not",
        "lambda",
        "new",
        "str",
        "int",
        "bool",
        "bytes",
        "float",
        "any",
        "object",
        "string",
        "self",
    )
)
_TEMPLATE = re.compile(r"\$?\{[^{}\n]*\}")


class Field(Struct, frozen=True):
    """Where the value of a secret field stands in a text."""

    start: int
    end: int


def secret_fields(text: str) -> Iterator[Field]:
    """The values to be replaced, in order, none overlapping."""
    at = 0
    for separator in _SIGN.finditer(text):
        place = separator.start()
        if place < at:
            continue
        # Names are looked for before a sign that may follow one, and not at every letter: signs are few.
        start = max(at, place - _REACH)
        before = text[start:place].lower()
        name = _NAME.search(text, start, place + 2) if any(hint in before for hint in HINTS) else None
        at = name.end() if name else place + 1
        found = _field(text, name) if name else None
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
        return Field(whole.start(), whole.end()) if _wanted(whole.group(0), strong) else None
    value = _VALUE.match(text, separator.end())
    if value is None:
        return None
    if value["quote"]:
        return _quoted(value, strong)
    return _bare(value, full, strong, separator)


def _quoted(value: re.Match[str], strong: str) -> Field | None:
    start, end = value.span("quoted")
    cut_off = value.end() == len(value.string) and value["quoted"].isalnum()
    if not value["closed"] and not cut_off:
        return None  # the quote belongs to what stands before the name
    if scheme := _SCHEME.match(value["quoted"]):
        start += scheme.end()
    return Field(start, end) if _wanted(value.string[start:end], strong) else None


def _bare(value: re.Match[str], full: str, strong: str, separator: re.Match[str]) -> Field | None:
    bare, text = value["bare"], value.string
    following = text[value.end() : value.end() + 1]
    if (following and following in "([") or _is_code(bare, full) or _is_empty(separator):
        return None
    if _WORDS.fullmatch(bare) and not value["scheme"] and not _set_by_hand(value, full, separator):
        return None
    start, end = value.span("bare")
    if end - start > 1 and text[end - 1] in ".:" and following in ("", " ", "\n"):
        end -= 1
    return Field(start, end) if _wanted(text[start:end], strong) else None


def _is_empty(separator: re.Match[str]) -> bool:
    """`password= user=ada`: nothing stands where the value would."""
    sep = separator["sep"]
    return sep.startswith("=") and sep != sep.rstrip()


def _is_code(bare: str, full: str) -> bool:
    if bare.lower() in _KEYWORDS or _DOTTED.fullmatch(bare):
        return True
    return bare.isidentifier() and (words(bare) == words(full) or strength(bare) == "strong")


def _set_by_hand(value: re.Match[str], full: str, separator: re.Match[str]) -> bool:
    """Whether plain words are a value: `password=swordfish`, or alone on a line of YAML. Elsewhere they are prose
    ("password: must be longer") or a variable (`secret = value`)."""
    sep = separator["sep"]
    if "=" in sep:
        return sep.strip() == sep
    text = value.string
    start = text.rfind("\n", 0, value.start()) + 1
    end = text.find("\n", value.end())
    line = text[start : end if end >= 0 else len(text)]
    return line.strip().startswith(full) and line.rstrip().endswith(value["bare"]) and value["bare"].islower()


def _wanted(value: str, strong: str) -> bool:
    if holds_nothing(value) or is_pseudonym(value) or value.endswith(f"@{MAIL_DOMAIN}"):
        return False
    if not any(c.isalnum() for c in value):
        return False
    if "{" in value and len(_TEMPLATE.sub("", value)) < 6:
        return False
    return strong == "strong" or looks_like_key(value)


def replace_fields(text: str, pseudonym: Callable[[str], str]) -> str:
    parts, at = [], 0
    for field in secret_fields(text):
        parts += [text[at : field.start], pseudonym(text[field.start : field.end])]
        at = field.end
    return "".join([*parts, text[at:]]) if parts else text
