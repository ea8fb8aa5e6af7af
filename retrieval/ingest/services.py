"""Which services there are: as services.json declares them, and as the records name them."""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from retrieval.ingest.intake import Intake
from retrieval.ingest.jsonlines import NotJson, decode
from retrieval.ingest.values import text
from retrieval.model import ServiceInfo

_MAX_BYTES = 8 * 1024 * 1024
# File names that say what is in a log, not whose it is.
_GENERIC_WORDS = (
    "app application service server main output out stdout stderr log logs error errors err access console messages "
    "syslog all events records combined spans earlier tracker default current journal docker pod container"
)
_GENERIC = frozenset(_GENERIC_WORDS.split())
_DECORATION = re.compile(r"(?:^(?:svc|service|app|ms|ts)-|[-_.](?:svc|service|server|app|api)$)")


def read_services(folder: Path, intake: Intake) -> dict[str, ServiceInfo]:
    """What services.json says; {} without one, or with one that can't be read."""
    path = folder / "services.json"
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as stream:
            declared = decode(stream.read(_MAX_BYTES))
    except OSError as error:
        intake.problem(
            "services.json", 0, f"can't be read ({error.strerror or type(error).__name__}); check its permissions"
        )
        return {}
    except NotJson as error:
        intake.problem("services.json", 0, f"{error}; the services were inferred")
        return {}
    if not isinstance(declared, dict):
        intake.problem("services.json", 0, 'expected {"service": {"repo": ...}}; the services were inferred')
        return {}
    found = {}
    for name, said in sorted(declared.items()):
        if isinstance(said, str):
            said = {"repo": said}
        if not isinstance(said, dict):
            intake.problem("services.json", 0, f"{name}: expected an object with repo, path_prefix, language, owners")
            said = {}
        found[name] = _info(name, said)
    return found


def _info(name: str, said: Mapping[str, Any]) -> ServiceInfo:
    owners = said.get("owners")
    return ServiceInfo(
        name=name,
        repo=text(said.get("repo")),
        path_prefix=text(said.get("path_prefix")).strip("/"),
        language=text(said.get("language")).lower(),
        owners=tuple(text(o) for o in owners) if isinstance(owners, list) else ((text(owners),) if owners else ()),
        environment=text(said.get("environment")),
    )


def complete(
    declared: Mapping[str, ServiceInfo], seen: Iterable[str], repos: Collection[str]
) -> dict[str, ServiceInfo]:
    """Adds the services that only records name, and a repository of the same name where none was declared."""
    found = {}
    for name, info in declared.items():
        repo = (
            info.repo if info.repo in repos or not repos else _repository(info.repo, repos) or _repository(name, repos)
        )
        found[name] = info if repo in ("", info.repo) else _with_repo(info, repo)
    for name in sorted({s for s in seen if s} - set(found)):
        found[name] = ServiceInfo(name=name, repo=_repository(name, repos), declared=False)
    if not found:
        found = {name: ServiceInfo(name=name, repo=name, declared=False) for name in sorted(repos)}
    return found


def _with_repo(info: ServiceInfo, repo: str) -> ServiceInfo:
    return ServiceInfo(
        name=info.name,
        repo=repo,
        path_prefix=info.path_prefix,
        language=info.language,
        owners=info.owners,
        environment=info.environment,
        declared=info.declared,
    )


def _repository(name: str, repos: Collection[str]) -> str:
    """The repository whose name is the service's, written the same or but for decoration (`cart-service`, `cart`); a
    declared `repo` may also be a path or URL that ends in it."""
    last = name.rstrip("/").rpartition("/")[2].removesuffix(".git").removesuffix(".bundle")
    if last in repos:
        return last
    alike = [r for r in sorted(repos) if last and _bare(r) == _bare(last)]
    return alike[0] if len(alike) == 1 else ""


def _bare(name: str) -> str:
    return _DECORATION.sub("", name.lower().replace("_", "-"))


def service_of_file(stem: str, known: Collection[str]) -> str:
    """Whose log a file is, from its name: a known service, else the only one where the name is generic, else what it
    is called."""
    if stem in known:
        return stem
    alike = [k for k in known if stem.lower().startswith(k.lower()) and not stem[len(k) : len(k) + 1].isalnum()]
    if alike:
        return max(alike, key=lambda k: (len(k), k))
    same = [k for k in known if _bare(k) == _bare(stem)]
    if len(same) == 1:
        return same[0]
    words = {w for w in re.split(r"[^a-z]+", stem.lower()) if w}
    if words <= _GENERIC:
        return next(iter(known)) if len(known) == 1 else ""
    return stem
