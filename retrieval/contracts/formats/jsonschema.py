"""JSON Schema files. Their documents are written by one side and read by another, so both directions count."""

import re
from pathlib import PurePosixPath

from msgspec.structs import replace

from retrieval.contracts.base import Difference, Format, Judged, Unreadable, named
from retrieval.contracts.schemas import Walk, judge_schema
from retrieval.contracts.trees import tree
from retrieval.model import ContractElement

_SCHEMA = re.compile(r"[\"']?\$schema[\"']?\s*:\s*[\"']?https?://json-schema\.org/", re.I)
_NAMED = (".schema.json", ".schema.yaml", ".schema.yml", ".jsonschema")
ROOT = "document"


def _claims(path: PurePosixPath, head: str) -> bool:
    if path.suffix.lower() not in (".json", ".yaml", ".yml", ".jsonschema"):
        return False
    return path.name.lower().endswith(_NAMED) or _SCHEMA.search(head) is not None


def _parse(text: str) -> tuple[ContractElement, ...]:
    root = tree(text)
    if not root.fields:
        raise Unreadable("is no JSON Schema: it is no mapping", root.line)
    walk = Walk()
    owner = named(root.said("title")) or ROOT
    walk.schema(root, owner, owner)
    for group in ("definitions", "$defs"):
        for name, node in root.each(group):
            walk.schema(node, named(name), named(name))
    return tuple(replace(e, direction="both") for e in walk.elements)


def _judge(found: Difference) -> Judged:
    return judge_schema(found, "JSON Schema compatibility")


FORMAT = Format("jsonschema", _claims, _parse, _judge)
