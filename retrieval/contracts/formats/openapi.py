"""OpenAPI 3 and Swagger 2: operations, parameters, and the fields of what is sent and answered."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec.structs import replace

from retrieval.contracts.base import MAX_ELEMENTS, Difference, Format, Judged, Unreadable, named
from retrieval.contracts.schemas import Walk, judge_schema, local, nullable, type_of
from retrieval.contracts.trees import Node, tree
from retrieval.model import ContractElement

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_BEGINS = re.compile(r"(?m)^\s*\{?\s*[\"']?(?:openapi|swagger)[\"']?\s*:\s*[\"']?[23]")
_IN_JSON = re.compile(r"[{,]\s*\"(?:openapi|swagger)\"\s*:\s*\"[23]")
_HOPS = 10  # of references to references
USED_BY = 10  # operations that are named for a schema
SOURCE = "OpenAPI compatibility (oasdiff)"


def _claims(path: PurePosixPath, head: str) -> bool:
    if path.suffix.lower() not in (".json", ".yaml", ".yml"):
        return False
    return bool(_BEGINS.search(head) or _IN_JSON.search(head))


class _Reading:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.walk = Walk()
        self.operations: list[ContractElement] = []
        self.used: dict[tuple[str, str], dict[str, None]] = {}  # (direction, owner) -> operations

    def resolve(self, node: Node) -> Node:
        """What a reference within the file points to; the node itself where it is none that can be followed."""
        for _ in range(_HOPS):
            ref = node.said("$ref")
            if not ref.startswith("#/"):
                return node
            parts = [p.replace("~1", "/").replace("~0", "~") for p in ref[2:].split("/")]
            found = self.root.get(*parts[:10])
            if found is None:
                return node
            node = found
        return node

    def operation(self, path: str, method: str, node: Node, shared: list[Node]) -> None:
        name = named(f"{method.upper()} {path}")
        facts = {"deprecated": "yes"} if node.said("deprecated") == "true" else {}
        self._add("operation", name, (name, path), node, facts)
        for parameter in [*shared, *node.listed("parameters")]:
            self._parameter(name, self.resolve(parameter))
        if (body := node.get("requestBody")) is not None:
            body = self.resolve(body)
            self._add(
                "request body", name, (name, ""), body, {"required": "yes" if body.said("required") == "true" else "no"}
            )
            self._contents(body, name, "request", f"{name} request")
        for status, answer in node.each("responses"):
            answer = self.resolve(answer)
            self._add("response", f"{name} {named(status)}", (name, named(status)), answer, {})
            self._contents(answer, name, "response", f"{name} {named(status)}")

    def _add(self, what: str, name: str, words: tuple[str, str], node: Node, facts: dict[str, str]) -> None:
        owner, member = words
        if len(self.operations) < MAX_ELEMENTS:
            made = ContractElement(
                what=what, name=name, owner=owner, member=member, line=node.line, facts=facts, used_by=(owner,)
            )
            self.operations.append(made)

    def _parameter(self, operation: str, node: Node) -> None:
        if node.said("in") == "body":  # Swagger 2
            self._root(node.get("schema"), operation, "request", f"{operation} request")
            return
        schema = node.get("schema") or node
        field = named(node.said("name"))
        facts = {
            "required": "yes" if node.said("required") == "true" else "no",
            "type": type_of(schema),
            "nullable": nullable(schema),
        }
        made = ContractElement(
            what="parameter", name=named(f"{operation} {node.said('in')} {field}"), owner=operation, member=field,
            line=node.line, facts=facts, direction="request", used_by=(operation,),
        )  # fmt: skip
        self.operations.append(made)
        self._root(schema, operation, "request", f"{operation} {field}")

    def _contents(self, node: Node, operation: str, direction: str, owner: str) -> None:
        self._root(node.get("schema"), operation, direction, owner)  # Swagger 2
        for number, (_, content) in enumerate(node.each("content")):
            if number == 0:  # further media types describe the same fields again
                self._root(content.get("schema"), operation, direction, owner)

    def _root(self, schema: Node | None, operation: str, direction: str, owner: str) -> None:
        if schema is None:
            return
        name = local(schema.said("$ref"))
        if not name:
            self.walk.schema(schema, owner, owner)
        self.used.setdefault((direction, name or owner), {})[operation] = None


def _parse(text: str) -> tuple[ContractElement, ...]:
    root = tree(text)
    if root.get("openapi") is None and root.get("swagger") is None:
        raise Unreadable("is no OpenAPI document: it names no version", root.line)
    reading = _Reading(root)
    for path, item in root.each("paths"):
        item = reading.resolve(item)
        for method in _METHODS:
            if (node := item.get(method)) is not None:
                reading.operation(path, method, node, item.listed("parameters"))
    for group in (root.get("components"), root):
        for name, node in group.each("schemas" if group is not root else "definitions") if group is not None else ():
            reading.walk.schema(node, named(name), named(name))
    return (*reading.operations, *_directed(reading))


def _directed(reading: _Reading) -> Iterator[ContractElement]:
    """Fields with the directions in which their schema travels, through all that refers to it."""
    travels = {direction: _spread(reading, direction) for direction in ("request", "response")}
    for element in reading.walk.elements:
        owner = element.owner if element.what == "field" else element.name.partition("=")[0].split(".")[0]
        uses = {d: _uses(travels[d], owner) for d in travels}
        ways = [d for d in travels if uses[d]]
        yield replace(
            element,
            direction="both" if len(ways) == 2 else "".join(ways),
            used_by=tuple(dict.fromkeys(o for d in ways for o in uses[d]))[:USED_BY],
        )


def _uses(travels: dict[str, dict[str, None]], owner: str) -> dict[str, None]:
    return travels.get(owner) or travels.get(owner.split("[")[0].split("|")[0], {})


def _spread(reading: _Reading, direction: str) -> dict[str, dict[str, None]]:
    """Schema -> operations that carry it. A schema that enough operations name isn't visited again, nor need what it
    refers to be: these operations got there before."""
    found: dict[str, dict[str, None]] = {}
    for (way, owner), operations in reading.used.items():
        if way != direction:
            continue
        for operation in operations:
            stack = [owner]
            while stack:
                name = stack.pop()
                known = found.setdefault(name, {})
                if operation in known or len(known) >= USED_BY:
                    continue
                known[operation] = None
                stack.extend(reading.walk.refs.get(name, ()))
    return found


def _judge(found: Difference) -> Judged:
    what, change = found.element.what, found.change
    if what in ("field", "enum value"):
        return judge_schema(found, SOURCE)
    if what == "operation":
        return Judged("both" if change == "removed" else "", f"{SOURCE}: an operation was {change}")
    if what == "response":
        lost = change == "removed" and found.element.member.startswith("2")
        return Judged("readers" if lost else "", f"{SOURCE}: an answer was {change}")
    required = found.element.facts.get("required") == "yes"
    if change == "added":
        return Judged("writers" if required else "", f"{SOURCE}: a new {'required' if required else 'optional'} {what}")
    if change == "removed":
        return Judged("writers" if what == "parameter" else "", f"{SOURCE}: a {what} is gone")
    return judge_schema(found, SOURCE)


FORMAT = Format("openapi", _claims, _parse, _judge)
