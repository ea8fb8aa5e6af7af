"""What takes a redacted value's place: the same for the same value under the same key, and nothing without the key.

Most kinds become `kind:` and 16 hexadecimal digits of a keyed BLAKE2b (RFC 7693) over the canonical value. Mail
addresses, network addresses, telephone and card numbers become values of their own shape in ranges that are reserved or
never issued: recorded input is replayed in a generated test, where `email:4f…` would fail for another reason than
production did. No rule matches a pseudonym, so that redacting twice changes nothing.
"""

import hashlib
import ipaddress
import re
from collections.abc import Callable

_MAX_KEY = 64  # bytes of a BLAKE2b key
_LETTERS, _DIGITS = "abcdef", "0123456789"

MAIL_DOMAIN = "redacted.invalid"  # RFC 2606: never resolves
UNASSIGNED_COUNTRY = "+999"  # ITU-T E.164: reserved, no subscriber
UNISSUED_CARD = "9999"  # ISO/IEC 7812: national use, no card network

NOBODY_BORN = 1900  # a year of birth that no living person has
NOWHERE = "0.0"  # beside 0° N 0° E, in the open sea

_PSEUDONYM = re.compile(r"[a-z][a-z-]{1,30}:[a-f]\d[0-9a-f]{14}")
_OWN_SHAPE = re.compile(
    rf"{re.escape(NOWHERE)}\d{{7}}|{NOBODY_BORN}-\d\d-\d\d|\{UNASSIGNED_COUNTRY}\d{{10}}|{UNISSUED_CARD}\d{{12}}"
)


SHAPED = frozenset({"email", "ip", "phone", "card"})  # take a value of their own shape
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def is_pseudonym(text: str) -> bool:
    """Whether a text is one `kind:digits` pseudonym and nothing else."""
    return _PSEUDONYM.fullmatch(text) is not None


def is_ours(text: str) -> bool:
    """Whether a text is a pseudonym of any kind, of its own shape or not."""
    return is_pseudonym(text) or text.endswith(f"@{MAIL_DOMAIN}") or _OWN_SHAPE.fullmatch(text) is not None


def starts_pseudonym(text: str, at: int) -> bool:
    return at >= 0 and _PSEUDONYM.match(text, at) is not None


class Pseudonyms:
    """Made from one key; `key_id` names it, so that a rotation can be told from a changed value."""

    def __init__(self, key: bytes, key_id: str) -> None:
        if len(key) < 16:
            raise ValueError("a redaction key needs at least 16 bytes")
        self.key = key if len(key) <= _MAX_KEY else hashlib.blake2b(key).digest()
        self.key_id = key_id
        self._shapes: dict[str, Callable[[str], str]] = {
            "email": self._mail,
            "ip": self._address,
            "phone": self._phone,
            "card": self._card,
            "birth": self._birth,
            "geo": self._place,
        }

    def of(self, kind: str, value: str) -> str:
        shaped = self._shapes.get(kind)
        return shaped(value) if shaped else f"{kind}:{self._hex(kind, value)}"

    def _digest(self, kind: str, value: str) -> bytes:
        person = kind.encode()[:16]
        return hashlib.blake2b(value.encode("utf-8", "replace"), key=self.key, person=person, digest_size=16).digest()

    def _number(self, kind: str, value: str) -> int:
        return int.from_bytes(self._digest(kind, value), "big")

    def _hex(self, kind: str, value: str) -> str:
        """16 digits, of which the first is a letter and the second a figure: log masks then always see a hexadecimal
        id, never now a number and now a word."""
        digest = self._digest(kind, value)
        return _LETTERS[digest[0] % 6] + _DIGITS[digest[1] % 10] + digest[2:9].hex()

    def _mail(self, value: str) -> str:
        return f"user-{self._hex('email', value.lower())}@{MAIL_DOMAIN}"

    def _address(self, value: str) -> str:
        """Into 240.0.0.0/4 (RFC 1112, reserved) or 2001:db8::/32 (RFC 3849, documentation)."""
        address = ipaddress.ip_address(value)
        number = self._number("ip", address.exploded)
        if address.version == 4:
            return str(ipaddress.IPv4Address(0xF0000000 | number % 0x0FFFFFFE))
        return str(ipaddress.IPv6Address((0x20010DB8 << 96) | number % (1 << 96)))

    def _phone(self, value: str) -> str:
        digits = re.sub(r"\D", "", value)
        return f"{UNASSIGNED_COUNTRY}{self._number('phone', digits) % 10**10:010d}"

    def _card(self, value: str) -> str:
        digits = re.sub(r"\D", "", value)
        body = f"{UNISSUED_CARD}{self._number('card', digits) % 10**11:011d}"
        return body + str(_check_digit(body))

    def _birth(self, value: str) -> str:
        """ISO dates stay dates, of a year in which nobody alive was born."""
        if not _ISO_DATE.fullmatch(value.strip()):
            return f"birth:{self._hex('birth', value)}"
        number = self._number("birth", value.strip())
        return f"{NOBODY_BORN}-{number % 12 + 1:02d}-{number // 12 % 28 + 1:02d}"

    def _place(self, value: str) -> str:
        """One coordinate stays a number, of digits that any program prints back."""
        try:
            float(value)
        except ValueError:
            return f"geo:{self._hex('geo', value)}"
        number = self._number("geo", value)
        return f"{NOWHERE}{number % 9 + 1}{number // 9 % 10**5:05d}{number // 10**6 % 9 + 1}"


def _check_digit(body: str) -> int:
    """Luhn (ISO/IEC 7812-1, annex B)."""
    return -luhn_sum(body + "0") % 10


def luhn_sum(digits: str) -> int:
    total = 0
    for at, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + at % 2)
        total += number - 9 if number > 9 else number
    return total
