"""Deploys, flag switches and configuration changes: small records, always read back from the beginning of time, because
what was true at a moment was set before it; and the configuration of a service as a whole at a moment."""

from collections import defaultdict
from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material, kept, restoring
from retrieval.model import ConfigChange, Deploy, Document, FlagChange
from retrieval.model.moments import iso_of

SNAPSHOTS = 5  # moments of one service, the latest


def deploys(material: Material) -> Iterator[Document]:
    for number, deploy in enumerate(material.sources.deploys):
        share = "" if deploy.percent is None else f" to {deploy.percent:g} %"
        yield material.document(
            "deploy",
            (deploy.service, deploy.git_sha, deploy.started_ns, deploy.percent, deploy.region, deploy.source),
            title=f"{deploy.service} deploy",
            text=f"{deploy.service} deployed {deploy.git_sha} after {deploy.previous_sha or 'an unknown commit'}{share}"
            f" {deploy.region} {deploy.environment} {deploy.image_digest}",
            time_ns=deploy.started_ns,
            service=deploy.service,
            environment=deploy.environment,
            region=deploy.region,
            keys={
                "commit_sha": deploy.git_sha,
                "deployment_id": deploy.deployment_id,
                "image_digest": deploy.image_digest,
            },
            source=str(deploy.source),
            attributes=kept([(number, deploy)]),
        )


def flags(material: Material) -> Iterator[Document]:
    for number, change in enumerate(material.sources.flags):
        yield material.document(
            "flag",
            (change.flag, change.value, change.at_ns, change.service, change.region, change.source),
            title=f"flag {change.flag}",
            text=f"flag {change.flag} set to {change.value} {change.service} {change.region}",
            time_ns=change.at_ns,
            service=change.service,
            region=change.region,
            keys={"flag": change.flag},
            source=str(change.source),
            attributes=kept([(number, change)]),
        )


def config(material: Material) -> Iterator[Document]:
    for number, change in enumerate(material.sources.config):
        yield material.document(
            "config",
            (change.service, change.key, change.value, change.at_ns, change.source),
            title=f"{change.service} {change.key}",
            text=f"{change.service} configuration {change.key} set to {change.value}",
            time_ns=change.at_ns,
            service=change.service,
            keys={"config_key": change.key},
            source=str(change.source),
            attributes=kept([(number, change)]),
        )
    yield from _snapshots(material)


def _snapshots(material: Material) -> Iterator[Document]:
    """All keys of a service as they stood after each of its latest changes; of a single key the change tells all."""
    by_service: dict[str, list[ConfigChange]] = defaultdict(list)
    for change in material.sources.config:
        by_service[change.service].append(change)
    for service in sorted(by_service):
        state: dict[str, ConfigChange] = {}
        moments: dict[int, dict[str, ConfigChange]] = {}
        for change in sorted(by_service[service], key=lambda c: c.at_ns):
            state[change.key] = change
            moments[change.at_ns] = dict(state)
            if len(moments) > SNAPSHOTS:
                del moments[next(iter(moments))]
        for at_ns, keys in moments.items():
            if len(keys) > 1:
                yield _snapshot(material, service, at_ns, keys)


def _snapshot(material: Material, service: str, at_ns: int, keys: dict[str, ConfigChange]) -> Document:
    values = {key: keys[key].value for key in sorted(keys)}
    return material.document(
        "config",
        ("snapshot", service, at_ns, values),
        title=f"{service} configuration at {iso_of(at_ns)}".strip(),
        text="\n".join(f"{key} = {value}" for key, value in values.items()),
        time_ns=at_ns,
        service=service,
        keys={"config_snapshot": service or "all"},
        source=f"{max(keys.values(), key=lambda c: c.at_ns).source.file}@{iso_of(at_ns)}",
        attributes={"values": values},
    )


DEPLOY = Kind("deploy", deploys, restoring("deploys", Deploy), timeless=True)
FLAG = Kind("flag", flags, restoring("flags", FlagChange), timeless=True)
CONFIG = Kind("config", config, restoring("config", ConfigChange), timeless=True)
