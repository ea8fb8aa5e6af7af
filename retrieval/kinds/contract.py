"""Contracts and migrations: each version of a file, and what was changed, one document for each element's group."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial

from msgspec.structs import replace

from retrieval.contracts import CONTRACT_FORMATS
from retrieval.contracts.versions import versions_changes
from retrieval.kinds.base import Kind, Material, Restored, kept, restored
from retrieval.model import Contract, ContractChange, Document

_LISTED = 400  # elements of one version in the text


def documents(name: str, material: Material) -> Iterator[Document]:
    """`name` is contract or migration."""
    for number, contract in enumerate(material.sources.contract_files):
        if _kind_of(contract.format) == name:
            yield _version(name, material, number, contract)
    changes = [
        *versions_changes(material.sources.contract_files, material.sources.deploys),
        *(replace(c, service=material.service_of(c.repo, c.path)) for c in material.contract_changes),
    ]
    committed = {c.sha: c.committed_ns for c in material.commits}
    groups: dict[tuple[str, ...], list[ContractChange]] = defaultdict(list)
    for change in changes:
        if _kind_of(change.format) == name:
            key = (change.service, change.repo, change.commit_sha, change.path, change.version, change.owner)
            groups[key].append(change)
    for whole in sorted(groups):
        yield _group(name, material, whole, groups[whole], committed)


def _kind_of(format_name: str) -> str:
    return "migration" if CONTRACT_FORMATS[format_name].steps else "contract"


def _version(name: str, material: Material, number: int, contract: Contract) -> Document:
    told = dict.fromkeys(f"{e.what} {e.name}" for e in contract.elements)
    return material.document(
        name,
        ("version", contract.service, contract.family, contract.version, contract.source),
        title=f"{contract.service} {contract.family} {contract.version}".strip(),
        text="\n".join([f"{contract.format} {contract.family}", *list(told)[:_LISTED]]),
        time_ns=contract.time_ns or 0,
        service=contract.service,
        paths=(contract.family,),
        keys={"contract": contract.family},
        source=str(contract.source),
        attributes=kept([(number, contract)]),
    )


def _group(
    name: str, material: Material, key: tuple[str, ...], changes: list[ContractChange], committed: dict[str, int]
) -> Document:
    one = changes[0]
    lines = [f"{c.told}{f', breaks {c.breaks}' if c.breaks else ''} ({c.rule})" for c in changes]
    used = dict.fromkeys(operation for c in changes for operation in c.used_by)
    members = dict.fromkeys(f"{one.path}::{c.owner}.{c.member}" for c in changes if c.member and c.member != c.owner)
    return material.document(
        name,
        ("change", *key),
        title=f"{one.service} {one.path}: {one.owner or one.name}",
        text="\n".join([one.path, *lines, *used]),
        time_ns=one.reached_ns or committed.get(one.commit_sha, 0),
        service=one.service,
        paths=(one.path,),
        symbols=tuple(members),
        keys={
            "contract": one.path,
            "commit_sha": one.commit_sha,
            "repo": one.repo,
            "endpoint": next(iter(used), "").partition(" ")[2],
        },
        source=str(one.source),
        attributes={"breaks": sorted({c.breaks for c in changes} - {""}), "changes": len(changes)},
    )


def _restore(documents_: Iterable[Document]) -> Restored:
    return {"contract_files": list(restored(documents_, Contract))}


CONTRACT = Kind("contract", partial(documents, "contract"), _restore, timeless=True)
MIGRATION = Kind("migration", partial(documents, "migration"), _restore, timeless=True)
