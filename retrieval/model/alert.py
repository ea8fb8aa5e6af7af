"""What a sender told us, after parsing; nothing in it is trusted as text."""

from msgspec import Struct, field

_SERVICE_LABELS = ("service", "service_name", "app", "job", "deployment", "container", "component")


class Alert(Struct, frozen=True, kw_only=True):
    """One alert of one sender. `fingerprint` identifies the label set; `starts_ns` is when it began to fire (an upper
    bound of the onset, never the onset itself; 0: the sender did not say)."""

    source: str
    fingerprint: str
    name: str
    status: str  # firing | resolved
    starts_ns: int
    ends_ns: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    generator_url: str = ""
    group_key: str = ""
    external_url: str = ""

    @property
    def service(self) -> str:
        """The service that the alert names, or ""; which label held it is the sender's business."""
        return next((self.labels[k] for k in _SERVICE_LABELS if self.labels.get(k)), "")

    @property
    def severity(self) -> str:
        return self.labels.get("severity", "")

    @property
    def region(self) -> str:
        return self.labels.get("region", "")

    @property
    def environment(self) -> str:
        return self.labels.get("environment", "") or self.labels.get("env", "")

    @property
    def summary(self) -> str:
        return self.annotations.get("summary") or self.annotations.get("description") or self.name


class AlertBatch(Struct, frozen=True, kw_only=True):
    """One delivery: the alerts that could be parsed, and what could not be, with the reason.

    `truncated` counts alerts that the sender left out; the delivery's own status is then worthless.
    """

    source: str
    alerts: tuple[Alert, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()  # (raw JSON text of the alert, reason)
    truncated: int = 0
    group_labels: dict[str, str] = field(default_factory=dict)  # what the sender grouped by
