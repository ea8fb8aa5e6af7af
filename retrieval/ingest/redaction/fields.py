"""`name=value` and `name: value` inside text: query strings, logfmt, JSON, YAML, headers, command lines, XML (pure)."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec import Struct

from retrieval.ingest.redaction.keys import holds_nothing, looks_like_key, strength, words
from retrieval.ingest.redaction.persons import BARE, Personal, personal, tells
from retrieval.ingest.redaction.pseudonyms import is_ours, starts_pseudonym
from retrieval.ingest.redaction.statements import literals

_SIGN = re.compile(r"[=:]")
_REACH = 90  # characters before a sign in which its name is looked for
# Read backwards from the sign, which costs one look for each sign instead of one for each word.
_NAME_BEFORE = re.compile(r"\s{0,3}+(?:[\])]?+[\"']?+\\{0,3}+)([\w.$-]{1,80}+)(?: ([A-Za-z]{2,20})(?![\w$]))?")
_SEPARATOR = re.compile(r"(?:=>|=(?!=)|:(?![:=]))\s{0,3}")
_DEFAULT = re.compile(
    r"variable\s+\"(?P<name>[\w-]{1,80})\"\s*\{[^{}]{0,200}?default\s*=\s*\"(?P<value>[^\"\n]{1,400})\""
)
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z][\w:.-]{0,80})>(?P<value>[^<\n]{1,400})</(?P=name)>")
_VALUE = re.compile(
    r"(?:[bruf]{0,2}(?P<quote>\\{0,7}[\"']|&quot;|&\#3[49];)(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){0,4000})(?P<closed>(?P=quote))?)"
    r"|(?P<open>\()?(?P<scheme>(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate)\s+)?(?P<bare>[^\s,;&\"'<>(){}\[\]\\]{1,4000})",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"[\w!#$%&*+.^`|~-]+=[^\n\"'\\]{1,4000}")
_SCHEME = re.compile(r"(?i)(Bearer|Basic|Token|Digest|ApiKey|Negotiate)\s+")
# Source code stands in tracebacks and diffs, and is no secret: `token=self.token`, `password: str`, `secret = await x`.
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\.?")
_WORDS = re.compile(r"[A-Za-z_-]+[.:]?")
_KEYWORDS = frozenset(
    ("await", "yield", "not", "lambda", "new", "str", "int", "bool", "bytes", "float", "any", "object", "string",
     "self", "varchar", "text", "null", "none", "nil", "undefined", "true", "false", "unknown", "n/a", "required",
     "optional")
)  # fmt: skip
# What is said where a code is sent to somebody; elsewhere a `code` is an error's.
_SENT = re.compile(r"(?i)\b(?:otp|totp|sms|mfa|2fa|verif\w*|one[-_ ]?time|login|sign[-_]?in|twilio|phone|passcode)")
_TEMPLATE = re.compile(r"\$?\{[^{}\n]*\}")


class Field(Struct, frozen=True):
    """Where the value of a marked field stands in a text, and the kind of what it holds."""

    start: int
    end: int
    kind: str = "secret"


class Name(Struct, frozen=True):
    """A name and the separator after it; `full` has the word before it where only both together say something, `start`
    is where the name itself stands, `end` where its value does."""

    full: str
    plain: str
    sep: str
    start: int
    end: int


def marked_fields(text: str) -> Iterator[Field]:
    """The values to be replaced, in order, none overlapping."""
    at = 0
    for sign in _SIGN.finditer(text):
        place = sign.start()
        if place < at:
            continue
        name = _name_before(text, place, at)
        found = _field(text, name) if name else None
        if found is not None:
            yield found
            at = max(name.end if name else 0, found.end)


def _name_before(text: str, place: int, at: int) -> Name | None:
    """The name before a sign, if it marks anything."""
    before = _NAME_BEFORE.match(text[max(at, place - _REACH) : place][::-1])
    if before is None:
        return None
    plain = before[1][::-1]
    full = _marking(plain, before[2][::-1] if before[2] else "")
    separator = _SEPARATOR.match(text, place) if full else None
    if separator is None:
        return None
    start = place - before.end(1)
    return Name(full, plain, text[place - _spaces(text, place) : separator.end()], start, separator.end())


def _spaces(text: str, place: int) -> int:
    return sum(1 for at in range(1, 4) if text[place - at : place].isspace())


@lru_cache(maxsize=8_192)
def _marking(name: str, first: str) -> str:
    """The name, with the word before it where only both together say something ("api key: …", "first name: …"); ""
    where neither marks a value."""
    strong, person = strength(name), personal(name)
    if first and strong != "strong":
        both = f"{first}_{name}"
        of_both = personal(both)
        if strength(both) == "strong" or (of_both and of_both.certain) or (person and not of_both):
            return both
    return name if strong or person else ""


def _field(text: str, name: Name) -> Field | None:
    strong = strength(name.full)
    person = None if strong == "strong" else personal(name.full)
    if not strong and person is None:
        return None
    if starts_pseudonym(text, name.start):
        return None
    if strong and words(name.full).endswith("cookie") and (whole := _COOKIES.match(text, name.end)):
        return Field(whole.start(), whole.end()) if _wanted(whole.group(0), strong) else None
    value = _VALUE.match(text, name.end)
    if value is None or starts_pseudonym(text, value.start("bare")):
        return None
    if person is not None and not person.certain and person.kind == "one-time-code" and not _SENT.search(text):
        person = None
    if value["quote"]:
        return _quoted(value, strong, person)
    if person is not None and (found := _bare_person(value, name, person)):
        return found
    return _bare(value, strong, name) if strong else None


def _quoted(value: re.Match[str], strong: str, person: Personal | None) -> Field | None:
    start, end = value.span("quoted")
    cut_off = value.end() == len(value.string) and value["quoted"].isalnum()
    if not value["closed"] and not cut_off:
        return None  # the quote belongs to what stands before the name
    inner = value["quoted"]
    if person is not None and tells(person, inner) and _new(inner):
        return Field(start, end, person.kind)
    if not strong:
        return None
    if scheme := _SCHEME.match(inner):
        start += scheme.end()
    return Field(start, end) if _wanted(value.string[start:end], strong) else None


def _bare_person(value: re.Match[str], name: Name, person: Personal) -> Field | None:
    text, bare = value.string, value["bare"]
    start = value.start("bare") - (value["open"] is not None and person.kind in ("phone", "geo"))
    if _is_code(bare, name.full) or bare.lower() in _KEYWORDS or _is_empty(name):
        return None
    found = BARE[person.kind].match(text, start)
    prose = ":" in name.sep and person.kind in ("person", "postal") and bare[:1].islower()
    if found is None or (prose and found.group(0).isascii()):
        return None
    inner = found.group(0).rstrip(" .,:")
    if inner.startswith("(") and ")" not in inner:
        start, inner = start + 1, inner[1:]
    following = text[start + len(inner) : start + len(inner) + 1]
    if following in ("(", "[", "_") or (following == "/" and person.kind == "geo"):
        return None
    return Field(start, start + len(inner), person.kind) if tells(person, inner) and _new(inner) else None


def _bare(value: re.Match[str], strong: str, name: Name) -> Field | None:
    bare, text = value["bare"], value.string
    following = text[value.end() : value.end() + 1]
    if (following and following in "([{") or _is_code(bare, name.full) or _is_empty(name):
        return None
    if _WORDS.fullmatch(bare) and not value["scheme"] and not _set_by_hand(value, name):
        return None
    start, end = value.span("bare")
    if end - start > 1 and text[end - 1] in ".:" and following in ("", " ", "\n"):
        end -= 1
    return Field(start, end) if _wanted(text[start:end], strong) else None


def _is_empty(name: Name) -> bool:
    """`password= user=ada`: nothing stands where the value would."""
    sep = name.sep
    return sep.startswith("=") and sep != sep.rstrip()


def _is_code(bare: str, full: str) -> bool:
    if bare.lower() in _KEYWORDS or _DOTTED.fullmatch(bare):
        return True
    return bare.isidentifier() and (words(bare) == words(full) or strength(bare) == "strong")


def _set_by_hand(value: re.Match[str], name: Name) -> bool:
    """Whether plain words are a value: `password=swordfish`, or alone on a line of YAML. Elsewhere they are prose
    ("password: must be longer") or a variable (`secret = value`)."""
    sep = name.sep
    if "=" in sep:
        return sep.strip() == sep
    text = value.string
    start = text.rfind("\n", 0, value.start()) + 1
    end = text.find("\n", value.end())
    line = text[start : end if end >= 0 else len(text)].lstrip("+- \t")
    return line.startswith(name.plain) and line.rstrip().endswith(value["bare"]) and value["bare"].islower()


def _new(value: str) -> bool:
    return not holds_nothing(value) and not is_ours(value)


def _wanted(value: str, strong: str) -> bool:
    if not _new(value) or not any(c.isalnum() for c in value):
        return False
    if value[0] == "/" and value.count("/") == len(re.findall(r"/[a-z][a-z0-9._-]*", value)):
        return False  # a path: `PWD=/srv/app`
    if "{" in value and len(_TEMPLATE.sub("", value)) < 6:
        return False
    return strong == "strong" or looks_like_key(value)


def _by_name(name: str, value: str, start: int) -> Field | None:
    """A value whose name stands apart from it: a column of a statement, an element."""
    strong = strength(name)
    if strong and _wanted(value, strong):
        return Field(start, start + len(value))
    person = personal(name)
    if person is not None and tells(person, value) and _new(value):
        return Field(start, start + len(value), person.kind)
    return None


def _named_apart(text: str) -> Iterator[Field]:
    if "</" in text:
        for element in _ELEMENT.finditer(text):
            if found := _by_name(element["name"], element["value"], element.start("value")):
                yield found
    for default in _DEFAULT.finditer(text) if "variable" in text else ():
        if found := _by_name(default["name"], default["value"], default.start("value")):
            yield found
    for column, value, start in literals(text):
        if found := _by_name(column, value, start):
            yield found


def fields(text: str) -> Iterator[tuple[Callable[[str], Iterator[Field]], Field]]:
    """The first field that each way of reading finds."""
    for read in (_named_apart, marked_fields):
        if found := next(read(text), None):
            yield read, found


def replace_fields(text: str, pseudonym: Callable[[str, str], str]) -> str:
    """`pseudonym` takes a kind and a value."""
    for read in (_named_apart, marked_fields):
        parts, at = list[str](), 0
        for field in sorted(read(text), key=lambda f: f.start):
            if field.start >= at:
                parts += [text[at : field.start], pseudonym(field.kind, text[field.start : field.end])]
                at = field.end
        text = "".join([*parts, text[at:]]) if parts else text
    return text
