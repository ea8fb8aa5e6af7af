"""Applies the rules to text and to fields. One object a process; what it has seen is remembered, within bounds."""

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from retrieval.ingest.redaction.fields import fields, replace_fields
from retrieval.ingest.redaction.gates import BASE64, Tries, is_digest, tries
from retrieval.ingest.redaction.keys import excused, holds_nothing, looks_like_key, names_address, strength
from retrieval.ingest.redaction.memo import Memo
from retrieval.ingest.redaction.personal import PERSONAL
from retrieval.ingest.redaction.persons import personal, tells
from retrieval.ingest.redaction.pseudonyms import SHAPED, Pseudonyms, is_ours
from retrieval.ingest.redaction.rules import Rule

# Not a secret, and meant not to be: it makes a run without settings repeatable, byte for byte, anywhere. Whoever knows
# it can test a guess against a pseudonym, so a server takes its key from the settings.
_THROWAWAY_KEY = b"receipts: a run without settings uses this public key"
_REMEMBERED, _REMEMBERED_CHARACTERS = 30_000, 8_000_000
_LONGEST_REMEMBERED = 8_192
_PASSES = 4
_MAX_DEPTH = 24

_PERCENT = re.compile(r"[^\s\"'<>?&=;/]{0,2000}%[0-9A-Fa-f]{2}[^\s\"'<>?&=;/]{0,2000}")
_LINES = str.maketrans("\n\r\t", "   ")
_QUOTED = re.compile(r"(b?)(['\"])(.*)\2", re.DOTALL)
_ADDRESS_RULES = tuple(r for r in PERSONAL if r.kind == "ip")


class KeyedRedactor:
    """Implements `retrieval.ports.Redactor`.

    The same value under the same key gives the same pseudonym wherever it stands, so that records still join and
    cluster. Text without secrets and personal data comes back as it was; redacting twice changes nothing.
    """

    def __init__(self, key: bytes, key_id: str) -> None:
        """`key`: at least 16 bytes. `key_id` names it; a rotated key has another.

        Raises: ValueError (the key is too short)."""
        self._pseudonyms = Pseudonyms(key, key_id)
        self.key_id = key_id
        # What came out is remembered as well as what went in: a text passes several doors, and a door has to look only
        # at what has passed none.
        self._seen = Memo[str, str](_REMEMBERED, _REMEMBERED_CHARACTERS)
        self._fields = Memo[tuple[str, str], str](_REMEMBERED, _REMEMBERED_CHARACTERS)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process is given the key and begins with nothing remembered."""
        return KeyedRedactor, (self._pseudonyms.key, self.key_id)

    def text(self, value: str) -> str:
        if len(value) < 6:
            return value
        known = self._seen.get(value)
        if known is not None:
            return known
        clean, settled = self._clean(value, frozenset())
        if len(value) <= _LONGEST_REMEMBERED:
            self._seen.keep(value, clean, len(value))
            if settled and clean != value:
                self._seen.keep(clean, clean, len(clean))
        return clean

    def value(self, key: str, value: object) -> object:
        """A field's value with the field's name taken into account; dicts, lists and tuples are walked, other types
        than text are returned as they are."""
        if not isinstance(value, str):
            return self._value(key, value, strength(key), 0)
        if len(value) > _LONGEST_REMEMBERED:
            return self._field(key, value, strength(key))
        known = self._fields.get((key, value))
        if known is None:
            known = self._field(key, value, strength(key))
            self._fields.keep((key, value), known, len(value))
        return known

    def survivors(self, text: str) -> Iterable[str]:
        """Names of the detectors that still match, sorted; empty when clean."""
        if self._seen.get(text) == text:
            return []
        tried = tries(text)
        found = {rule.kind for rule in (*tried.secrets, *tried.personal) if _first(rule, text)}
        if tried.fields:
            found.update(f"{field.kind}-field" for _, field in fields(text))
        if tried.encoded and self._encoded(text) != text:
            found.add("encoded-secret")
        return sorted(found)

    def _value(self, key: str, value: object, marked: str, depth: int) -> object:
        if isinstance(value, str):
            return self._field(key, value, marked)
        if depth > _MAX_DEPTH:
            return self.text(str(value))
        if isinstance(value, dict):
            return {
                self.text(k) if isinstance(k, str) else k: self._value(
                    f"{key}.{k}"[-200:], v, "strong" if marked == "strong" else strength(str(k)), depth + 1
                )
                for k, v in value.items()
            }
        if isinstance(value, list | tuple):
            walked = [self._value(key, v, marked, depth + 1) for v in value]
            return walked if isinstance(value, list) else tuple(walked)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return self._numeric(key, value, marked)

    def _numeric(self, key: str, value: float, marked: str) -> object:
        if marked == "strong":
            return self._pseudonyms.of("secret", str(value))
        person = personal(key)
        if person is None or is_ours(str(value)) or not tells(person, str(value)):
            return value
        pseudonym = self._pseudonyms.of(person.kind, str(value))
        return float(pseudonym) if person.kind == "geo" else pseudonym

    def _field(self, key: str, value: str, marked: str) -> str:
        if marked:
            prefix, mark, inner = _unquoted(value)
            if marked == "strong" or looks_like_key(inner):
                return f"{prefix}{mark}{self._secret(inner)}{mark}"
        if (person := personal(key)) is not None:
            prefix, mark, inner = _unquoted(value)
            if tells(person, inner) and not is_ours(inner) and not holds_nothing(inner):
                return f"{prefix}{mark}{self._pseudonyms.of(person.kind, inner)}{mark}"
        if excuse := excused(key):
            return self._clean(value, excuse)[0]
        if names_address(key) and len(value) < 80:
            return self._address_field(value)
        return self.text(value)

    def _secret(self, value: str) -> str:
        scheme, space, rest = value.partition(" ")
        if space and scheme.lower() in ("bearer", "basic", "token", "digest", "apikey", "negotiate"):
            return f"{scheme} {self._secret(rest.strip())}"
        if holds_nothing(value) or is_ours(value):
            return value
        return self._pseudonyms.of("secret", value)

    def _address_field(self, value: str) -> str:
        """A field that is named as an address holds one, even where its four numbers could be a version."""
        marked = "ip " + value
        for rule in _ADDRESS_RULES:
            marked = self._replace(rule, marked)
        return self.text(marked[3:])

    def _clean(self, value: str, excuse: frozenset[str]) -> tuple[str, bool]:
        """Until nothing is left to take out, and whether that was reached: what one pass leaves beside a replaced part
        may be something itself. Not so where only values of their own shape were replaced: their neighbours see what
        they saw before."""
        for _ in range(_PASSES):
            if is_digest(value):
                return value, True
            tried = tries(value)
            if not tried.any:
                return value, True
            clean = self._marked(value, tried)
            settled = clean == value
            for rule in tried.personal:
                if rule.kind not in excuse:
                    before, clean = clean, self._replace(rule, clean)
                    settled = settled and (rule.kind in SHAPED or before == clean)
            if tried.encoded:
                before, clean = clean, self._encoded(clean)
                settled = settled and before == clean
            value = clean
            if settled:
                return value, True
        return value, False

    def _marked(self, value: str, tried: Tries) -> str:
        for rule in tried.secrets:
            value = self._replace(rule, value)
        return replace_fields(value, self._pseudonyms.of) if tried.fields else value

    def _plain(self, value: str) -> str:
        tried = tries(value)
        value = self._marked(value, tried)
        for rule in tried.personal:
            value = self._replace(rule, value)
        return value

    def _replace(self, rule: Rule, text: str) -> str:
        group = rule.group()

        def swap(match: re.Match[str]) -> str:
            found = match.group(group)
            if not rule.check(match) or is_ours(found) or holds_nothing(found):
                return match.group(0)
            start, end = (i - match.start() for i in match.span(group))
            whole = match.group(0)
            return f"{whole[:start]}{self._pseudonyms.of(rule.kind, found)}{whole[end:]}"

        return rule.pattern.sub(swap, text)

    def _encoded(self, value: str) -> str:
        """What is a secret after one Base64 or percent decoding."""
        if "%" in value:
            value = _PERCENT.sub(self._percent, value)
        return BASE64.sub(self._base64, value)

    def _percent(self, match: re.Match[str]) -> str:
        decoded = unquote(match.group(0))
        clean = self._plain(decoded)
        return match.group(0) if clean == decoded else quote(clean, safe=":@")

    def _base64(self, match: re.Match[str]) -> str:
        token = match.group(0)
        try:
            decoded = base64.b64decode(
                token + "=" * (-len(token) % 4), altchars=b"-_" if "-" in token or "_" in token else None, validate=True
            ).decode("ascii")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return token
        if not decoded.translate(_LINES).isprintable() or self._plain(decoded) == decoded:
            return token
        return self._pseudonyms.of("secret", token)


def throwaway_redactor() -> KeyedRedactor:
    """For runs without settings: the demo, `triage` on a folder, tests. Its key is public; see its comment."""
    return KeyedRedactor(_THROWAWAY_KEY, "throwaway-1")


def _unquoted(value: str) -> tuple[str, str, str]:
    """The repr of a text is (prefix, quote, text), so that a redacted local variable stays one."""
    quoted = _QUOTED.fullmatch(value)
    return (quoted[1], quoted[2], quoted[3]) if quoted else ("", "", value)


def _first(rule: Rule, text: str) -> bool:
    group = rule.group()
    return any(
        rule.check(m) and not is_ours(m.group(group)) and not holds_nothing(m.group(group))
        for m in rule.pattern.finditer(text)
    )
