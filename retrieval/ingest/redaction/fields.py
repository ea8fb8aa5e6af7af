"""`name=value` and `name: value` inside text: query strings, logfmt, JSON, YAML, headers, command lines, XML (pure)."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from retrieval.ingest.redaction.keys import holds_nothing, looks_like_key, strength, words
from retrieval.ingest.redaction.persons import BARE, WORDS, Personal, personal, tells
from retrieval.ingest.redaction.pseudonyms import is_ours, starts_pseudonym
from retrieval.ingest.redaction.statements import literals

_SECRET_WORDS = ("pass", "pwd", "secret", "token", "key", "auth", "cookie", "credential", "sess", "csrf", "xsrf", "cvv",
                 "cvc", "ssn", "social", "jwt", "sig", "sas", "hmac", "api")  # fmt: skip
# A text in which none of these stands holds no field of interest.
HINTS = tuple(sorted(w for w in {*_SECRET_WORDS, *WORDS} if not any(o in w for o in {*_SECRET_WORDS, *WORDS} - {w})))

_FIELD = re.compile(
    r"(?<![\w$])(?:(?P<first>[A-Za-z]{2,20}+)[ ])?(?P<name>[\w.$-]{1,120}+)(?P<close>\\?[\"']?[\])]?)"
    r"(?P<sep>\s{0,3}(?:=>|=(?!=)|:(?![:=]))\s{0,3})"
)
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z][\w:.-]{0,80})>(?P<value>[^<\n]{1,400})</(?P=name)>")
_VALUE = re.compile(
    r"(?:[bruf]{0,2}(?P<quote>\\\"|\\'|\"|')(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){0,4000})(?P<closed>(?P=quote))?)"
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
_TEMPLATE = re.compile(r"\$?\{[^{}\n]*\}")


class Field(Struct, frozen=True):
    """Where the value of a marked field stands in a text, and the kind of what it holds."""

    start: int
    end: int
    kind: str = "secret"


def marked_fields(text: str) -> Iterator[Field]:
    """The values to be replaced, in order, none overlapping."""
    at = 0
    while (name := _FIELD.search(text, at)) is not None:
        at = name.end()
        found = _field(text, name)
        if found is not None:
            yield found
            at = max(at, found.end)


def _full(name: re.Match[str]) -> str:
    """The name, with the word before it where only both together say something ("api key: …", "first name: …")."""
    alone, first = name["name"], name["first"]
    if not first or strength(alone) == "strong":
        return alone
    both = f"{first}_{alone}"
    mark, doubtful = personal(words(both)), personal(words(alone))
    if strength(both) == "strong" or (mark and mark.certain) or (doubtful and not mark):
        return both
    return alone


def _field(text: str, name: re.Match[str]) -> Field | None:
    full = _full(name)
    strong = strength(full)
    person = None if strong == "strong" else personal(words(full))
    if not strong and person is None:
        return None
    if starts_pseudonym(text, name.start("name")):
        return None
    end = name.end()
    if strong and words(full).endswith("cookie") and (whole := _COOKIES.match(text, end)):
        return Field(whole.start(), whole.end()) if _wanted(whole.group(0), strong) else None
    value = _VALUE.match(text, end)
    if value is None or starts_pseudonym(text, value.start("bare")):
        return None
    if value["quote"]:
        return _quoted(value, strong, person)
    if person is not None and (found := _bare_person(value, full, person, name)):
        return found
    return _bare(value, full, strong, name) if strong else None


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


def _bare_person(value: re.Match[str], full: str, person: Personal, name: re.Match[str]) -> Field | None:
    text, bare = value.string, value["bare"]
    start = value.start("bare") - (value["open"] is not None and person.kind in ("phone", "geo"))
    if _is_code(bare, full) or bare.lower() in _KEYWORDS or (name["sep"].startswith("=") and name["sep"].endswith(" ")):
        return None
    found = BARE[person.kind].match(text, start)
    if found is None or (":" in name["sep"] and person.kind in ("person", "postal") and bare[:1].islower()):
        return None
    inner = found.group(0).rstrip(" .,:")
    if inner.startswith("(") and ")" not in inner:
        start, inner = start + 1, inner[1:]
    following = text[start + len(inner) : start + len(inner) + 1]
    if following in ("(", "[", "_") or (following == "/" and person.kind == "geo"):
        return None
    return Field(start, start + len(inner), person.kind) if tells(person, inner) and _new(inner) else None


def _bare(value: re.Match[str], full: str, strong: str, name: re.Match[str]) -> Field | None:
    bare, text = value["bare"], value.string
    following = text[value.end() : value.end() + 1]
    if (following and following in "([") or _is_code(bare, full) or _is_empty(name):
        return None
    if _WORDS.fullmatch(bare) and not value["scheme"] and not _set_by_hand(value, name):
        return None
    start, end = value.span("bare")
    if end - start > 1 and text[end - 1] in ".:" and following in ("", " ", "\n"):
        end -= 1
    return Field(start, end) if _wanted(text[start:end], strong) else None


def _is_empty(name: re.Match[str]) -> bool:
    """`password= user=ada`: nothing stands where the value would."""
    sep = name["sep"]
    return sep.startswith("=") and sep != sep.rstrip()


def _is_code(bare: str, full: str) -> bool:
    if bare.lower() in _KEYWORDS or _DOTTED.fullmatch(bare):
        return True
    return bare.isidentifier() and (words(bare) == words(full) or strength(bare) == "strong")


def _set_by_hand(value: re.Match[str], name: re.Match[str]) -> bool:
    """Whether plain words are a value: `password=swordfish`, or alone on a line of YAML. Elsewhere they are prose
    ("password: must be longer") or a variable (`secret = value`)."""
    sep = name["sep"]
    if "=" in sep:
        return sep.strip() == sep
    text = value.string
    start = text.rfind("\n", 0, value.start()) + 1
    end = text.find("\n", value.end())
    line = text[start : end if end >= 0 else len(text)].lstrip("+- \t")
    return line.startswith(name["name"]) and line.rstrip().endswith(value["bare"]) and value["bare"].islower()


def _new(value: str) -> bool:
    return not holds_nothing(value) and not is_ours(value)


def _wanted(value: str, strong: str) -> bool:
    if not _new(value) or not any(c.isalnum() for c in value):
        return False
    if "{" in value and len(_TEMPLATE.sub("", value)) < 6:
        return False
    return strong == "strong" or looks_like_key(value)


def _by_name(name: str, value: str, start: int) -> Field | None:
    """A value whose name stands apart from it: a column of a statement, an element."""
    strong = strength(name)
    if strong and _wanted(value, strong):
        return Field(start, start + len(value))
    person = personal(words(name))
    if person is not None and tells(person, value) and _new(value):
        return Field(start, start + len(value), person.kind)
    return None


def _named_apart(text: str) -> Iterator[Field]:
    if "</" in text:
        for element in _ELEMENT.finditer(text):
            if found := _by_name(element["name"], element["value"], element.start("value")):
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
