"""Deploys, flag switches and configuration changes: small records, always read back from the beginning of time, because
what was true at a moment was set before it."""

from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material, kept, restoring
from retrieval.model import ConfigChange, Deploy, Document, FlagChange


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


DEPLOY = Kind("deploy", deploys, restoring("deploys", Deploy), timeless=True)
FLAG = Kind("flag", flags, restoring("flags", FlagChange), timeless=True)
CONFIG = Kind("config", config, restoring("config", ConfigChange), timeless=True)
