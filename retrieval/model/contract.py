"""What services and databases promised each other: contracts, and how they were changed."""

from msgspec import Struct, field

from retrieval.model.telemetry import SourceRef


class ContractElement(Struct, frozen=True, kw_only=True):
    """One thing that a contract promises, or one thing that a migration does.

    `what` and `name` identify it in its file (a protobuf field by its number: renaming one keeps it). `owner` and
    `member` are the words that an error would use: schema and field, table and column. `facts` are what may change
    about it; literal values (defaults) are never kept, only that there is one. `direction` is request|response|both
    as its users see it, `used_by` the operations that carry it.
    """

    what: str
    name: str
    owner: str = ""
    member: str = ""
    line: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    direction: str = ""
    used_by: tuple[str, ...] = ()


class Contract(Struct, frozen=True, kw_only=True):
    """One version of one contract file. `family` is its name without what tells versions apart; `time_ns` is what its
    version says of its time."""

    service: str
    format: str
    family: str
    version: str = ""
    time_ns: int | None = None
    elements: tuple[ContractElement, ...] = ()
    source: SourceRef = SourceRef("")


class ContractChange(Struct, frozen=True, kw_only=True):
    """One difference between two versions.

    `change` is added|removed|changed, `fact` what of it was changed, from `before` to `after`. `breaks` says whom it
    breaks: readers (who read what the new version writes), writers (who still write by the old version), both, or
    nobody (""). `rule` names the reason and where it is written. `reached_ns` is when it reached production, None where
    that is unknown; `commit_sha` is empty where two files were given instead of a repository.
    """

    service: str
    format: str
    path: str
    what: str
    name: str
    change: str
    owner: str = ""
    member: str = ""
    fact: str = ""
    before: str = ""
    after: str = ""
    breaks: str = ""
    rule: str = ""
    risk: str = ""
    direction: str = ""
    used_by: tuple[str, ...] = ()
    repo: str = ""
    commit_sha: str = ""
    version: str = ""
    reached_ns: int | None = None
    source: SourceRef = SourceRef("")

    @property
    def is_step(self) -> bool:
        """Whether it is a step of a migration, which has no earlier version."""
        return not self.change

    @property
    def told(self) -> str:
        """`field Coupon.text removed`, `field Coupon.2 (text): type string -> int32`, `dropped column orders.total`."""
        named = self.name if self.member in self.name else f"{self.name} ({self.member})"
        if self.change == "changed":
            return f"{self.what} {named}: {self.fact} {self.before or 'unset'} -> {self.after or 'unset'}"
        return f"{self.what} {named} {self.change}".strip()
