"""What is looked for in text, whatever field it stands in: a table of shapes, each with what must hold beside it.

Prefixes and lengths are the issuers' published ones. There is no entropy rule: it would take trace ids, digests and
etags for secrets.
"""

import ipaddress
import re
from collections.abc import Callable

from msgspec import Struct

from retrieval.ingest.redaction.pseudonyms import MAIL_DOMAIN, UNASSIGNED_COUNTRY, luhn_sum

Check = Callable[[re.Match[str]], bool]


def _always(match: re.Match[str]) -> bool:
    return True


class Rule(Struct, frozen=True, kw_only=True):
    """One shape. `needs` are lower-case literals of which a text holds one, `gate` a pattern that is found in its shape
    (every figure a 0), or `pattern` isn't tried. Group `value` is what is replaced, the whole match where there is
    none."""

    kind: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    gate: re.Pattern[str] | None = None
    check: Check = _always

    def group(self) -> str | int:
        return "value" if "value" in self.pattern.groupindex else 0


def _rule(kind: str, pattern: str, needs: tuple[str, ...], check: Check = _always) -> Rule:
    return Rule(kind=kind, pattern=re.compile(pattern), needs=needs, check=check)


def _shaped(kind: str, pattern: str, gate: str, check: Check = _always) -> Rule:
    return Rule(kind=kind, pattern=re.compile(pattern), gate=re.compile(gate), check=check)


_HALF_PSEUDONYM = re.compile(r"[a-f]\d[0-9a-f]{14}@")


def _mail(match: re.Match[str]) -> bool:
    """Not one of ours, and not the rest of `scheme://user:secret:…@host`."""
    found = match.group(0)
    return not found.lower().endswith(f"@{MAIL_DOMAIN}") and not _HALF_PSEUDONYM.match(found)


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


def _card(match: re.Match[str]) -> bool:
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


def _iban(match: re.Match[str]) -> bool:
    """ISO 13616: the length of the country, and the check digits modulo 97."""
    value = match.group(0).replace(" ", "")
    if _IBAN_LENGTHS.get(value[:2]) != len(value):
        return False
    return int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 == 1


_VERSION_BEFORE = re.compile(r"(?i)(?:\b(?:version|firmware|release|build|rev|ver)\W{0,12}|\bv|[A-Za-z]/)\Z")
_ADDRESS_BEFORE = re.compile(
    r"(?i)(?:\b(?:ip|addr(?:ess)?|host|client|peer|server|remote|from|to|for|by)\W{0,4}|://|@)\Z"
)


def _public(match: re.Match[str]) -> bool:
    """A real, public address: private, reserved and documentation ranges are no personal data and stay. Four small
    numbers are a version (4.2.1.7) unless something beside them says address."""
    try:
        address = ipaddress.ip_address(match.group(0))
    except ValueError:
        return False
    if not address.is_global or address.is_multicast:
        return False
    if address.version == 6:
        return address.packed[0] >> 5 == 1  # 2000::/3 is all that is handed out; `1::4` is a slice
    before = _before(match)
    if _VERSION_BEFORE.search(before):
        return False
    small = max(address.packed) <= 30
    return not small or _ADDRESS_BEFORE.search(before) is not None or match.string[match.end() : match.end() + 1] == ":"


def _phone(match: re.Match[str]) -> bool:
    """E.164: a country code and 8 to 15 digits in all."""
    value = match.group(0)
    if value.startswith(UNASSIGNED_COUNTRY):
        return False
    return 8 <= len(re.sub(r"\D", "", value)) <= 15


SECRETS: tuple[Rule, ...] = (
    _rule(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s{0,4}(?P<value>\S[\s\S]{0,20000}?)\s{0,4}"
        r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        ("private key",),
        lambda m: not m["value"].strip("\\rn \n").startswith("private-key:"),
    ),
    _rule("jwt", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{0,2000}", ("eyj",)),
    _rule(
        "aws-key",
        r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z2-7]{16}\b",
        ("akia", "asia", "agpa", "aida", "aroa", "aipa", "anpa", "anva"),
    ),
    _rule(
        "github-token",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{22,255})",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    _rule(
        "gitlab-token",
        r"\bgl(?:pat|dt|rt|ptt|cbt|ft)-[\w-]{20,255}",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-"),
    ),
    _rule("slack-token", r"\b(?:xox[abeoprs](?:\.xox[bp])?-[\w-]{10,255}|xapp-\d-[\w-]{10,255})", ("xox", "xapp-")),
    _rule(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[\w/-]{15,200})",
        ("hooks.slack.com",),
    ),
    _rule(
        "stripe-key",
        r"\b(?:[rsp]k_(?:live|test)_[A-Za-z0-9]{10,255}|whsec_[A-Za-z0-9+/=]{16,255})",
        ("k_live_", "k_test_", "whsec_"),
    ),
    _rule("google-key", r"\b(?:AIza[\w-]{35}|ya29\.[\w-]{20,500}|GOCSPX-[\w-]{20,60})", ("aiza", "ya29.", "gocspx-")),
    _rule("model-key", r"\bsk-(?:proj-|ant-|svcacct-|or-)?[A-Za-z0-9_-]{20,255}", ("sk-",)),
    _rule(
        "package-token",
        r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,500}|dckr_pat_[\w-]{20,60})",
        ("npm_", "pypi-", "dckr_pat_"),
    ),
    _rule(
        "mail-key",
        r"\b(?:SG\.[\w-]{16,32}\.[\w-]{16,64}|key-[0-9a-f]{32}|xkeysib-[0-9a-f]{64}-\w{16})",
        ("sg.", "key-", "xkeysib-"),
    ),
    _rule("vault-token", r"\bhv[sbr]\.[\w-]{20,300}", ("hvs.", "hvb.", "hvr.")),
    _rule(
        "cloud-token",
        r"\b(?:do[op]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}|NRAK-[A-Z0-9]{27}|glsa_\w{32}_[0-9a-f]{8})",
        ("_v1_", "dapi", "nrak-", "glsa_"),
    ),
    _rule("bot-token", r"\b\d{8,10}:AA[\w-]{33}\b", (":aa",)),
    _rule(
        "credential",
        r"(?i)\b(?:Bearer|Basic|ApiKey|Negotiate)\s+(?P<value>[\w+/.~=-]{16,4000})",
        ("bearer ", "basic ", "apikey ", "negotiate "),
    ),
    _rule("secret", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{0,100}:(?P<value>[^\s/@'\"<>]{1,200})@", ("://",)),
    _rule(
        "secret",
        r"(?i)\b(?:identified\s+by(?:\s+password)?|(?:with|encrypted)\s+password)\s+'(?P<value>[^'\n]{1,200})'",
        ("identified", "password"),
    ),
    _rule(
        "secret",
        r"(?:^|\s)(?:-p|--password[= ]|-u\s{0,3}\w{1,40}:)(?P<value>[^\s'\"=-][^\s'\"]{3,100})",
        ("mysql", "curl", "--password"),
    ),
)

PERSONAL: tuple[Rule, ...] = (
    _shaped(
        "email",
        r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![\w-])",
        "@",
        _mail,
    ),
    _shaped(
        "iban", r"\b[A-Z]{2}\d\d(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?)\b", "[A-Z]{2}00", _iban
    ),
    _shaped(
        "card",
        r"(?<![\w.,+-])(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{5})(?![\w-]|[.,]\d)",
        "0{13}|0000[ -]0000",
        _card,
    ),
    _shaped("ssn", r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])", "000-00-0000"),
    _shaped(
        "phone",
        r"(?<![\w.+:)-])\+[1-9]\d{0,2}(?:\d{6,13}|(?:[ .-]?\(?\d{2,5}\)?){2,5})(?![\w:]|\.\d)",
        r"\+0",
        _phone,
    ),
    _shaped("ip", r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)", r"0\.0{1,3}\.0{1,3}\.0", _public),
    _shaped(
        "ip",
        r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){2,7}(?::?[0-9a-fA-F]{1,4}){0,6}(?![\w:.])"
        r"|(?<![\w:.])[0-9a-fA-F]{1,4}::(?:[0-9a-fA-F]{1,4}:?){0,6}(?![\w:.])",
        "::|(?:[0a-fA-F]{1,4}:){7}",
        _public,
    ),
)
