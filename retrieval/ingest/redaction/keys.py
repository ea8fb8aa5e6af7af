"""Which field names mark their value as a secret (pure).

A strong name marks any value. A weak one (`token`, `session`, `signature`) marks only what looks like a key: in a
parser a `token` is a word of the input, and that input is wanted as evidence.
"""

import re
from functools import lru_cache

_STRONG = (
    r"pass_?word|passwd|pwd|pass_?phrase|pass_?code|secret(?:_?key)?|secret_?access_?key|client_?secret|"
    r"api_?key|api_?secret|app_?key|access_?key|account_?key|private_?key|signing_?key|encryption_?key|auth_?key|"
    r"(?:access|refresh|auth|bearer|id|api|session|csrf|xsrf|secret|security|oauth|bot|personal|deploy)_?token|"
    r"shared_?access_?signature|authorization|proxy_?authorization|cookies?|set_?cookie|credentials?|"
    r"session_?(?:id|key)|sessid|csrf|cvv2?|cvc|ssn|social_?security(?:_?number)?|master_?key|jwt|"
    r"(?:reset|invite|magic|verify|unsubscribe|device|push|web_?hook|registration|join|upload|signing)_?token|"
    r"application_?key|web_?hook_?secret|hmac_?key|license_?key|totp_?(?:seed|secret)|seed_?phrase|"
    r"passwort|kennwort|contrase(?:ñ|n)a|mot_?de_?passe|parola|senha|wachtwoord|has(?:ł|l)o|пароль|密码|密碼|パスワード|비밀번호"
)
_WEAK = r"token|session|signature|sig|auth|sas|nonce_?key|x_?api|hmac|code|ticket|nonce|verifier|assertion"
# The last words of a name count (`db.user.password`, `X-Api-Key`, `awsSecretAccessKey`, `DJANGO_SECRET_KEY`).
_STRONG_END = re.compile(rf"(?:^|_)(?:{_STRONG})$")
_WEAK_END = re.compile(rf"(?:^|_)(?:{_WEAK})$")
# Names that end like a secret and hold none.
_HARMLESS = re.compile(
    r"(?:^|_)(?:next|page|continuation|sync|cursor|previous|resume|start|max|min|num|count|total|missing|invalid|"
    r"expired|has|is|require[sd]?|public|change|wrong|no)_\w+$"
)
# Codes and keys of another kind: `primary_key`, `error_code`.
_HARMLESS_WEAK = re.compile(
    r"(?:^|_)(?:primary|foreign|partition|sort|cache|row|routing|object|idempotency|dedup|deduplication|hash|status|"
    r"error|exit|response|return|country|zip|postal|area|colou?r|currency|language|promo|coupon|product|item|reason|"
    r"result|http)_(?:code|key)$"
)
_VERSION_WORD = re.compile(r"(?:^|_)(?:version|firmware|release|build|revision|ver|agent)s?(?:_|$)")
# The names of one's own machines; nobody's personal data, and wanted in the answer.
_OWN_MACHINE = re.compile(r"^(?:k8s|host|server|service|container|cloud|net_host)_|(?:^|_)(?:node|pod|instance)(?:_|$)")
_ADDRESS_WORD = re.compile(
    r"(?:^|_)(?:ip|ips|addr|address|host|client|peer|server|remote|forwarded_for|net|real_ip)(?:_|$)"
)
_IDENTIFIER_WORD = re.compile(
    r"(?:^|_)(?:id|ids|order|invoice|trace|span|request|transaction|txn|ref|reference|seq|offset|sku|ean|gtin|barcode|"
    r"parcel|tracking|shipment|serial|imei|batch|timestamp|time|nano|nanos)(?:_|$)"
)


@lru_cache(maxsize=4096)
def words(name: str) -> str:
    """`http.request.header.X-Api-Key`, `awsSecretKey` -> lower-case words joined by `_`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[\W_]+", "_", spaced.lower()).strip("_")


@lru_cache(maxsize=4096)
def strength(name: str) -> str:
    """`strong`, `weak`, or "" for a name that marks nothing."""
    name = words(name[:200])
    if _HARMLESS.search(name) and not re.search(r"(?:password|passwd|secret|reset_token)$", name):
        return ""
    if _STRONG_END.search(name):
        return "strong"
    return "weak" if _WEAK_END.search(name) and not _HARMLESS_WEAK.search(name) else ""


@lru_cache(maxsize=4096)
def excused(name: str) -> frozenset[str]:
    """Kinds of personal data that a field of this name does not hold, whatever its value looks like."""
    name = words(name[:200])
    kinds = set()
    if _VERSION_WORD.search(name) or _OWN_MACHINE.search(name):
        kinds.add("ip")
    if _IDENTIFIER_WORD.search(name):
        kinds |= {"card", "phone", "ssn"}
    return frozenset(kinds)


@lru_cache(maxsize=4096)
def names_address(name: str) -> bool:
    return _ADDRESS_WORD.search(words(name[:200])) is not None


_LOOKS_LIKE_KEY = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w+/=.~:%-]{16,}")
_NO_VALUE = re.compile(
    r"(?i)change[_-]?me|replace[_-]?me|placeholder|example|todo|your[_-][\w-]+|my[_-](?:password|secret|token|key)|"
    r"insert[_-][\w-]+|<[\w -]+>|\$[A-Z_]+|%[A-Z_]+%|aws4-hmac-sha256|none|null|nil|undefined|true|false|\*+|x{3,}|"
    r"\.{3}|…|\?|%s|%\(\w+\)s|\$\d+|:\w+|\$?\{+[\w.]*\}+|"
    r"[\[<(]\W*(?:filtered|redacted|masked|removed|hidden|secret|omitted|scrubbed)\W*[\])>]|redacted|filtered"
)


def looks_like_key(value: str) -> bool:
    return _LOOKS_LIKE_KEY.fullmatch(value) is not None


def holds_nothing(value: str) -> bool:
    """Empty, a placeholder of a template or statement, or taken out already by whoever logged it."""
    return not value.strip() or _NO_VALUE.fullmatch(value.strip()) is not None
