"""What must hold beside a shape for it to be what it looks like: check digits, lengths, what stands before (pure)."""

import ipaddress
import re
from functools import lru_cache

from retrieval.ingest.redaction.pseudonyms import MAIL_DOMAIN, UNASSIGNED_COUNTRY, luhn_sum

_HALF_PSEUDONYM = re.compile(r"[a-f]\d[0-9a-f]{14}@")


def mail(match: re.Match[str]) -> bool:
    """Not one of ours, and not the rest of `scheme://user:secret:…@host`."""
    found = match.group(0)
    if found.lower().endswith(f"@{MAIL_DOMAIN}") or _HALF_PSEUDONYM.match(found):
        return False
    # `git@host:path` and `scheme://user@host` name an account of a machine.
    return not found.startswith("git@") and match.string[max(0, match.start() - 3) : match.start()] != "://"


# ISO/IEC 7812 ranges of the large networks, with the lengths that they issue.
_CARD = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|"
    r"6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}"
)
_NOT_A_CARD = re.compile(
    r"(?i)\b(?:order|invoice|trace|span|request|transaction|txn|ids?|ref|reference|seq|offset|sku|ean|tracking|parcel|"
    r"shipment|serial|imei|batch|blk|block|time(?:stamp)?|nanos?)[\w.]*\W{0,4}\Z"
)


def _before(match: re.Match[str], length: int = 32) -> str:
    return match.string[max(0, match.start() - length) : match.start()]


def card(match: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", match.group(0))
    if not _CARD.fullmatch(digits) or luhn_sum(digits) % 10 or len(set(digits)) < 2:
        return False
    return _NOT_A_CARD.search(_before(match)) is None


# SWIFT IBAN registry, release 99.
_IBAN_LENGTHS = {
    "AD": 24,
    "AE": 23,
    "AT": 20,
    "BE": 16,
    "BG": 22,
    "CH": 21,
    "CY": 28,
    "CZ": 24,
    "DE": 22,
    "DK": 18,
    "EE": 20,
    "ES": 24,
    "FI": 18,
    "FR": 27,
    "GB": 22,
    "GI": 23,
    "GR": 27,
    "HR": 21,
    "HU": 28,
    "IE": 22,
    "IL": 23,
    "IS": 26,
    "IT": 27,
    "LI": 21,
    "LT": 20,
    "LU": 20,
    "LV": 21,
    "MC": 27,
    "MT": 31,
    "NL": 18,
    "NO": 15,
    "PL": 28,
    "PT": 25,
    "RO": 24,
    "RS": 22,
    "SA": 24,
    "SE": 24,
    "SI": 19,
    "SK": 24,
    "SM": 27,
    "TR": 26,
    "UA": 29,
    "BR": 29,
    "GE": 22,
}


def iban(match: re.Match[str]) -> bool:
    """ISO 13616: the length of the country, and the check digits modulo 97."""
    value = match.group(0).replace(" ", "")
    if _IBAN_LENGTHS.get(value[:2]) != len(value):
        return False
    return int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 == 1


_VERSION_BEFORE = re.compile(r"(?i)(?:\b(?:version|firmware|release|build|rev|ver)\W{0,12}|\bv|[A-Za-z]/)\Z")
_ADDRESS_BEFORE = re.compile(
    r"(?i)(?:\b(?:ip|addr(?:ess)?|host|client|peer|server|remote|from|to|for|by)\W{0,4}|://|@)\Z"
)


def public(match: re.Match[str]) -> bool:
    """A real, public address: private, reserved and documentation ranges are no personal data and stay. Four small
    numbers are a version (4.2.1.7) unless something beside them says address."""
    found = _handed_out(match.group(0))
    if found is None:
        return False
    if found.version == 6:
        return True
    before = _before(match)
    if _VERSION_BEFORE.search(before):
        return False
    small = max(found.packed) <= 30
    return not small or _ADDRESS_BEFORE.search(before) is not None or match.string[match.end() : match.end() + 1] == ":"


@lru_cache(maxsize=20_000)
def _handed_out(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address, if it is one that somebody on the internet may have."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if not address.is_global or address.is_multicast:
        return None
    if address.version == 6 and address.packed[0] >> 5 != 1:
        return None  # 2000::/3 is all that is handed out; `1::4` is a slice
    return address


def phone(match: re.Match[str]) -> bool:
    """E.164: a country code and 8 to 15 digits in all."""
    value = match.group(0)
    if value.startswith(UNASSIGNED_COUNTRY):
        return False
    return 8 <= len(re.sub(r"\D", "", value)) <= 15


def letters_after_modulo(match: re.Match[str]) -> bool:
    """DNI and NIE of Spain: the letter is the number modulo 23 (Real Decreto 1553/2005)."""
    value = re.sub(r"[ -]", "", match.group(0)).upper()
    number = str("XYZ".find(value[0])) + value[1:-1] if value[0] in "XYZ" else value[:-1]
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == value[-1]


def insee(match: re.Match[str]) -> bool:
    """NIR of France: the last two digits are 97 minus the rest modulo 97 (2A and 2B of Corsica count as 19 and 18)."""
    value = re.sub(r"\s", "", match.group(0)).upper()
    body = value[:-2].replace("2A", "19").replace("2B", "18")
    return 97 - int(body) % 97 == int(value[-2:])


_CODICE_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
         10, 22, 25, 24, 23),
        strict=True,
    )
)  # fmt: skip


def codice_fiscale(match: re.Match[str]) -> bool:
    """Italy: the sixteenth character checks the others (Decreto ministeriale of 23 December 1976)."""
    value = match.group(0).upper()
    total = 0
    for at, character in enumerate(value[:15]):
        if at % 2 == 0:
            total += _CODICE_ODD[character]
        else:
            total += int(character) if character.isdigit() else ord(character) - ord("A")
    return chr(ord("A") + total % 26) == value[15]


def cpf(match: re.Match[str]) -> bool:
    """Brazil: two check digits modulo 11 (Receita Federal)."""
    digits = [int(d) for d in re.sub(r"\D", "", match.group(0))]
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    return all(
        sum(d * (length + 1 - at) for at, d in enumerate(digits[:length])) * 10 % 11 % 10 == digits[length]
        for length in (9, 10)
    )


def resident_identity(match: re.Match[str]) -> bool:
    """China: the eighteenth character checks the others (GB 11643-1999, ISO 7064 MOD 11-2)."""
    value = match.group(0)
    total = sum(int(d) * (2 ** (17 - at) % 11) for at, d in enumerate(value[:17]))
    return "10X98765432"[total % 11] == value[17]
