"""Every key with its type, default, meaning and checks."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from retrieval.errors import BadInput
from retrieval.index.place import place_of
from retrieval.models import PROVIDERS

_UNITS_NS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_DURATION = re.compile(r"(?:\d{1,9}(?:ms|s|m|h|d))+")
_DURATION_PART = re.compile(r"(\d+)(ms|s|m|h|d)")


def duration_ns(text: str) -> int:
    """Nanoseconds of a duration as people write it: "45m", "1h30m", "0s".

    Raises: ValueError.
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a duration such as 45m, 24h or 1h30m")
    return sum(int(number) * _UNITS_NS[unit] for number, unit in _DURATION_PART.findall(text))


def _duration(text: str) -> str:
    duration_ns(text)
    return text


def _http_url(text: str) -> str:
    if text and not re.match(r"https?://[^/\s]+", text):
        raise ValueError(f"{text[:80]!r} is not an address that begins with http:// or https://")
    return text.rstrip("/")


def _provider(name: str) -> str:
    if name not in PROVIDERS:
        raise ValueError(f"{name[:40]!r} is unknown; it is one of {', '.join(sorted(PROVIDERS))}")
    return name


def _no_blank_secret(values: list[SecretStr]) -> list[SecretStr]:
    if any(not value.get_secret_value().strip() for value in values):
        raise ValueError("an entry is empty; everybody could send it")
    return values


def _user_and_password(values: list[SecretStr]) -> list[SecretStr]:
    for value in values:
        user, colon, password = value.get_secret_value().partition(":")
        if not (user and colon and password):
            raise ValueError("an entry is not of the form user:password")
    return values


Duration = Annotated[str, AfterValidator(_duration)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
Tokens = Annotated[list[SecretStr], AfterValidator(_no_blank_secret)]
Logins = Annotated[list[SecretStr], AfterValidator(_user_and_password)]


def _not_blank(value: SecretStr) -> SecretStr:
    _no_blank_secret([value])
    return value


def _tags(values: list[str]) -> list[str]:
    for value in values:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}", value, re.ASCII):
            raise ValueError(f"{value[:40]!r} is not a tag: letters, digits and _ . : / - only, 64 at most")
    return values


def _given_tags(values: list[str]) -> list[str]:
    if not values:
        raise ValueError("no tag is given; nobody could see it")
    if len(values) > MOST_TAGS:
        raise ValueError(f"more than {MOST_TAGS} tags")
    return _tags(values)


def _lasting(text: str) -> str:
    if duration_ns(text) <= 0:
        raise ValueError("nothing would be kept")
    return text


INCIDENTS = "incidents"  # what `retention` calls concluded incidents and their bundles
MOST_TAGS = 100  # of one entry
Secret = Annotated[SecretStr, AfterValidator(_not_blank)]
Tags = Annotated[list[str], AfterValidator(_given_tags)]
Lasting = Annotated[str, AfterValidator(_lasting)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Mapped(Section):
    """How the alerts of a sender without an adapter are read: dotted paths such as `event.monitor[0].name`, several
    candidates separated by `|`, the first that is there wins."""

    alerts: str = Field(
        default="alerts|events|items", description="path of the list of alerts; absent there: the body is one"
    )
    name: str = Field(default="alertname|labels.alertname|title|name|rule.name|event|message", description="what fired")
    status: str = Field(default="status|state|action|transition", description="firing or resolved")
    resolved: list[str] = Field(
        default=["resolved", "ok", "recovered", "closed", "close", "normal", "inactive", "resolve"],
        description="values of status that mean that it is over, whatever their case",
    )
    fingerprint: str = Field(
        default="fingerprint|id|alias|dedup_key|key", description="what stays the same between repeats"
    )
    starts: str = Field(
        default="startsAt|starts_at|started_at|created_at|timestamp|time", description="RFC 3339 or Unix time"
    )
    ends: str = Field(default="endsAt|ends_at|ended_at|resolved_at", description="RFC 3339 or Unix time")
    summary: str = Field(
        default="summary|annotations.summary|description|body|text", description="one sentence for people"
    )
    url: str = Field(default="generatorURL|url|link|html_url", description="where the sender shows it")
    labels: str = Field(default="labels|tags|details", description="path of a flat map of labels")
    label: dict[str, str] = Field(
        default={
            "service": "service|service.name|service_name",
            "severity": "severity|priority|level",
            "region": "region",
        },
        description="further labels, each with the path of its value",
    )


class Alerts(Section):
    tokens: Tokens = Field(default=[], description="bearer tokens that open every write endpoint but Slack's")
    basic: Logins = Field(
        default=[], description='"user:password" pairs that open the same endpoints by basic authentication'
    )
    mapped: dict[str, Mapped] = Field(
        default={},
        description="further alert senders, name -> mapping of JSON paths; each is served at POST /alerts/NAME",
    )

    @property
    def open(self) -> bool:
        """Nobody has to prove who they are; allowed on loopback only."""
        return not (self.tokens or self.basic)


class Pages(Section):
    private: bool = Field(
        default=False,
        description="ask for the credentials of `alerts` on incident pages and bundles; else their address is the key",
    )


class ReaderSettings(Section):
    token: Secret = Field(description="bearer token that opens incident pages and bundles")
    tags: Tags = Field(default=["public"], description="what it may see, beside what everyone may")


class AccessSettings(Section):
    default: Tags = Field(default=["public"], description="tags of what belongs to no service named in access.services")
    everyone: Tags = Field(default=["public"], description="tags that every reader has")
    services: dict[str, Tags] = Field(
        default={}, description="service -> tags, of which a reader needs one to see what belongs to it"
    )
    users: dict[str, Tags] = Field(default={}, description="id of a Slack user -> tags")
    channels: dict[str, Tags] = Field(
        default={},
        description="id of a Slack channel -> tags of those who ask in it; incidents are looked into with "
        "those of slack.channel (without Slack: of `log`)",
    )
    readers: dict[str, ReaderSettings] = Field(
        default={}, description="name -> {token, tags}: who may read incident pages and bundles over HTTP"
    )


class Slack(Section):
    api_url: HttpUrl = Field(default="https://slack.com/api", description="base address of Slack's Web API")
    bot_token: SecretStr = Field(
        default=SecretStr(""), description="xoxb- token of the installed app; empty = no Slack"
    )
    signing_secret: SecretStr = Field(
        default=SecretStr(""), description="verifies what Slack sends to POST /slack/events"
    )
    app_token: SecretStr = Field(default=SecretStr(""), description="xapp- token; set = Socket Mode instead of HTTP")
    channel: str = Field(default="", description="id of the channel that incidents are posted to")

    @property
    def enabled(self) -> bool:
        return bool(self.bot_token.get_secret_value())


def _cluster(text: str) -> str:
    if text:
        try:
            place_of(text)
        except BadInput as error:
            raise ValueError(f"{str(error).removeprefix('store.url: ')}; {error.remedy}") from error
    return text


class Store(Section):
    url: Annotated[str, AfterValidator(_cluster)] = Field(
        default="",
        description='"" = embedded in `data`; http(s)://HOST:PORT/PREFIX = Elasticsearch, indices PREFIX...',
    )
    api_key: SecretStr = Field(default=SecretStr(""), description="Elasticsearch's, in its encoded form")
    ca_certs: str = Field(default="", description="file of certificates that Elasticsearch is trusted by")


class Jobs(Section):
    url: str = Field(
        default="", pattern=r"^(postgres(ql)?://.+)?$", description='"" = SQLite in `data`; postgresql:// = Postgres'
    )


class Prometheus(Section):
    url: HttpUrl = Field(default="", description="base address of Prometheus; empty = no metrics are asked for")


class Alertmanager(Section):
    url: HttpUrl = Field(
        default="", description="base address of Alertmanager's API, to fetch what `max_alerts` cut off"
    )


class Otlp(Section):
    sample: float = Field(
        default=0.1, ge=0, le=1, description="share of healthy traces received over OTLP that is kept; failed ones all"
    )
    slow: Duration = Field(default="1s", description="a trace with a request that took this long or longer is kept too")
    keep: Duration = Field(default="7d", description="how long what was received over OTLP is kept")


class Service(Section):
    """One entry of `services`, as in services.json of a case folder."""

    repo: str = Field(default="", description="path or URL of a clone")
    path_prefix: str = Field(default="", description="the service's folder in the repository")
    language: str = Field(default="", description="its main language")
    owners: list[str] = Field(default=[], description="who is named in the message")
    environment: str = Field(
        default="", description="requirements or lock file in the repository, or the path of a prepared one"
    )


class Model(Section):
    name: str = Field(default="", description="language model; empty = none is asked")
    provider: Annotated[str, AfterValidator(_provider)] = Field(
        default="openai", description="`openai` = any OpenAI-compatible endpoint, `replay` = recorded answers only"
    )
    base_url: HttpUrl = Field(default="", description="an OpenAI-compatible endpoint; empty = the client's default")
    api_key: SecretStr = Field(default=SecretStr(""), description="its key; absent = no model (`replay` needs none)")
    deadline: Duration = Field(default="20s", description="after this the answer of the rules stands as it is")
    answers: str = Field(default="", description="folder that answers are kept in and repeated from; empty = in `data`")

    @property
    def enabled(self) -> bool:
        """Whether it is configured far enough to be asked."""
        return bool(self.name and (self.api_key.get_secret_value() or not PROVIDERS[self.provider].needs_key))


class Embedding(Section):
    model: str = Field(
        default="all-MiniLM-L6-v2", description='folder or name of a sentence-transformers model; "" = none'
    )


class Sandbox(Section):
    enabled: bool = Field(default=True, description="run generated tests; off = hypotheses only, up to `supported`")
    user: str = Field(
        default="",
        description="unprivileged user that runs tests when the server is root; empty = a number that owns nothing",
    )


class WindowSize(Section):
    before: Duration = Field(default="45m", description="how far before the onset telemetry is read")
    after: Duration = Field(default="15m", description="how far after the onset telemetry is read")
    diffs: Duration = Field(default="24h", description="how far before the onset changes are suspects")


class Settings(Section):
    """Validated settings. Secrets are `SecretStr`: they appear in no log and no repr."""

    listen: str = Field(default="127.0.0.1:8080", description="HOST:PORT of the web server; port 0 = any free one")
    data: Path = Field(
        default=Path("receipts-data"), description="folder of the embedded store, the state and the bundles"
    )
    public_url: HttpUrl = Field(
        default="", description="address under which people reach this server; makes citations links"
    )
    alerts: Alerts = Field(default=Alerts(), description="who may send alerts")
    pages: Pages = Field(default=Pages(), description="who may read incident pages")
    access: AccessSettings = Field(default=AccessSettings(), description="who may see what")
    retention: dict[str, Lasting] = Field(
        default={},
        description="document kind, or `incidents` (with their bundles), -> how long it is kept, such as 30d; else "
        "telemetry as `otlp.keep` says and the rest for ever",
    )
    slack: Slack = Field(default=Slack(), description="where incidents are posted")
    store: Store = Field(default=Store(), description="where documents are kept")
    jobs: Jobs = Field(default=Jobs(), description="where deliveries, incidents and jobs are kept")
    prometheus: Prometheus = Field(default=Prometheus(), description="metrics")
    alertmanager: Alertmanager = Field(default=Alertmanager(), description="the sender's API")
    otlp: Otlp = Field(default=Otlp(), description="telemetry that is sent to POST /v1/traces, /v1/logs, /v1/metrics")
    services: dict[str, Service] = Field(default={}, description="name -> repository, language, owners, environment")
    model: Model = Field(default=Model(), description="language model")
    embedding: Embedding = Field(default=Embedding(), description="dense vectors")
    sandbox: Sandbox = Field(default=Sandbox(), description="where generated tests run")
    window: WindowSize = Field(default=WindowSize(), description="what is looked at around the onset")
    phase: Literal[1, 2, 3, 4] = Field(
        default=3,
        description="1 read only, 2 tests and bundles, 3 patches too, 4 trivial guard patches without approval",
    )
    kill_switch: bool = Field(default=False, description="on = alerts are kept and shown, nothing is triaged or run")

    @property
    def host(self) -> str:
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.listen.rpartition(":")[2])

    @property
    def on_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @model_validator(mode="after")
    def _whole(self) -> "Settings":
        host, colon, port = self.listen.rpartition(":")
        if not (host and colon and port.isascii() and port.isdigit() and int(port) < 65536):
            raise Wrong("listen", f"{self.listen[:80]!r} is not HOST:PORT")
        if self.alerts.open and not self.on_loopback:
            raise Wrong(
                "alerts.tokens", f"none is set and listen is {self.listen}: anyone could write; set it or alerts.basic"
            )
        if self.slack.enabled and not self.slack.channel:
            raise Wrong("slack.channel", "not set although slack.bot_token is: there is nowhere to post")
        if not self.slack.enabled and (self.slack.app_token.get_secret_value()):
            raise Wrong("slack.bot_token", "not set although slack.app_token is")
        for name in self.alerts.mapped:
            if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
                raise Wrong(f"alerts.mapped.{name}", "a sender's name has lower-case letters, digits, - and _ only")
        return self


class Wrong(ValueError):
    """A check over several keys failed; carries the key that is named."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key
