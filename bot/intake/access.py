"""Who may write: bearer tokens and basic logins, compared in constant time, before anything of the body is read."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

from bot.settings import Alerts


class Gate:
    """Open to everybody when nothing is configured, which the settings allow on loopback only; even then not to a web
    page in somebody's browser (a request with an `Origin`)."""

    def __init__(self, alerts: Alerts) -> None:
        self._open = alerts.open
        self._known = [digest("bearer", token.get_secret_value().strip()) for token in alerts.tokens]
        self._known += [digest("basic", login.get_secret_value()) for login in alerts.basic]

    def allows(self, headers: Mapping[str, str]) -> bool:
        if self._open:
            return "Origin" not in headers
        given = credentials(headers)
        if given is None:
            return False
        # Every entry is compared, so that the time tells nothing about which one was right.
        return sum(hmac.compare_digest(digest(*given), known) for known in self._known) > 0


def credentials(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Scheme (bearer|basic) and secret of a request; None where it carries neither."""
    scheme, _, rest = headers.get("Authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return "bearer", rest.strip()
    if scheme.lower() != "basic":
        return None
    try:
        return "basic", base64.b64decode(rest.strip(), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def digest(scheme: str, secret: str) -> bytes:
    """What is compared in the place of a secret: of one length, whatever is given."""
    return hashlib.sha256(f"{scheme}\0{secret}".encode("utf-8", "surrogatepass")).digest()
