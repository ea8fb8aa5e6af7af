"""What a run ran in (row A1, Environment): enough to tell two runs apart, and nothing that is secret."""

from msgspec import Struct, field

from retrieval.model.telemetry import SourceRef


class EnvironmentFingerprint(Struct, frozen=True, kw_only=True):
    """One environment as it was found, one JSON object a file in `environment/` with these names.

    `variables` holds names of environment variables and the *shape* of each value, never a value: letters become `a`,
    digits `0`, runs are shortened (`aaa0:00`). `packages` are the resolved dependencies, `lock_digest` is the SHA-256
    of the lock file, `workspace_digest` that of the sources. `seeds` are the random seeds in force. `baseline` marks
    the environment that others are compared with: the last run that was good. Every field may be unknown ("" or {}).
    """

    run_id: str = ""
    service: str = ""
    commit_sha: str = ""
    workspace_digest: str = ""
    time_ns: int = 0
    baseline: bool = False
    os: str = ""  # name and version, such as `Debian GNU/Linux 12`
    arch: str = ""
    kernel: str = ""
    locale: str = ""
    timezone: str = ""
    interpreter: str = ""  # implementation and version, such as `CPython 3.11.9`
    lock_digest: str = ""
    image_digest: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    seeds: dict[str, str] = field(default_factory=dict)
    source: SourceRef = SourceRef("")


class EnvironmentDelta(Struct, frozen=True):
    """One thing that differs: `what` is a field's name, or `packages.NAME`; "" is absent."""

    what: str
    before: str
    after: str


_PLAIN = (
    "os", "arch", "kernel", "locale", "timezone", "interpreter", "lock_digest", "image_digest", "workspace_digest",
    "commit_sha",
)  # fmt: skip
_MAPS = ("packages", "variables", "seeds")


def environment_delta(before: EnvironmentFingerprint, after: EnvironmentFingerprint) -> tuple[EnvironmentDelta, ...]:
    """What differs between two environments, in the order of the fields and then of the names.

    A plain field that one of them does not tell is no difference.
    """
    found: list[EnvironmentDelta] = []
    for name in _PLAIN:
        old, new = str(getattr(before, name)), str(getattr(after, name))
        if old and new and old != new:
            found.append(EnvironmentDelta(name, old, new))
    for name in _MAPS:
        olds, news = getattr(before, name), getattr(after, name)
        if not olds or not news:
            continue
        for key in sorted({*olds, *news}):
            old, new = olds.get(key, ""), news.get(key, "")
            if old != new:
                found.append(EnvironmentDelta(f"{name}.{key}", old, new))
    return tuple(found)


def value_shape(value: str, limit: int = 40) -> str:
    """The shape of a value: letters `a`, digits `0`, anything beyond ASCII `?`; a run longer than three keeps three."""
    shape: list[str] = []
    for character in value[:10_000]:
        if not character.isascii():
            character = "?"
        elif character.isalpha():
            character = "a"
        elif character.isdigit():
            character = "0"
        elif not character.isprintable():
            character = "?"
        if shape[-3:] != [character] * 3:
            shape.append(character)
        if len(shape) >= limit:
            break
    return "".join(shape)
