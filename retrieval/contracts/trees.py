"""YAML and JSON as a tree whose nodes know their lines, built without recursion and within bounds. Pure.

libyaml's events are read one by one: an alias points to the node that it names and is never copied, one that points
into itself is refused, and so is anything deeper than `MAX_DEPTH`.
"""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from retrieval.contracts.base import MAX_DEPTH, Unreadable

MAX_NODES = 300_000
MAX_ALIASES = 200
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Node:
    """A mapping (`fields`), a sequence (`items`) or a scalar (`text`)."""

    __slots__ = ("fields", "items", "line", "open", "text")

    def __init__(self, line: int) -> None:
        self.line = line
        self.text = ""
        self.fields: dict[str, Node] = {}
        self.items: list[Node] = []
        self.open = True

    def get(self, *names: str) -> "Node | None":
        """The node that a path of field names leads to."""
        found: Node | None = self
        for name in names:
            found = found.fields.get(name) if found is not None else None
        return found

    def said(self, name: str) -> str:
        """The scalar of a field, "" where there is none."""
        found = self.fields.get(name)
        return found.text if found is not None else ""

    def each(self, name: str) -> Iterator[tuple[str, "Node"]]:
        """The fields of a field."""
        found = self.fields.get(name)
        return iter(found.fields.items()) if found is not None else iter(())

    def listed(self, name: str) -> list["Node"]:
        found = self.fields.get(name)
        return found.items if found is not None else []


def tree(text: str) -> Node:
    """The first document of a YAML or JSON text.

    Raises: Unreadable.
    """
    try:
        return _Building().build(yaml.parse(text, Loader=_Loader))
    except yaml.YAMLError as error:
        if text.lstrip()[:1] == "{" and (found := _json(text)) is not None:
            return found
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "can't be parsed"
        raise Unreadable(f"is no YAML: {problem}"[:200], mark.line + 1 if mark else 0) from error
    except (ValueError, UnicodeError) as error:
        raise Unreadable("is no YAML: it holds characters that can't be read") from error


def _json(text: str) -> Node | None:
    """JSON that is no YAML (`\\/`, tabs); lines are not known then."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return None
    root = Node(0)
    stack: list[tuple[Node, Any, int]] = [(root, plain, 0)]
    while stack:
        node, value, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise Unreadable(f"is nested deeper than {MAX_DEPTH}")
        if isinstance(value, dict):
            for name, below in value.items():
                node.fields[name] = Node(0)
                stack.append((node.fields[name], below, depth + 1))
        elif isinstance(value, list):
            for below in value:
                node.items.append(Node(0))
                stack.append((node.items[-1], below, depth + 1))
        else:
            node.text = value if isinstance(value, str) else json.dumps(value)
    return root


class _Building:
    """The state of one pass over the events."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.anchors: dict[str, Node] = {}
        self.stack: list[tuple[Node, bool]] = []  # open collections; whether a mapping
        self.names: list[str | None] = []  # of each open mapping, the key that waits for its value
        self.nodes = 0
        self.aliases = 0

    def build(self, events: Iterator[Any]) -> Node:
        for event in events:
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentEndEvent):
                break
            if isinstance(event, yaml.ScalarEvent):
                node = self._node(event, line)
                node.text, node.open = event.value, False
                self._place(node)
            elif isinstance(event, yaml.AliasEvent):
                self._place(self._aliased(event, line))
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._begin(event, line)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                self.stack.pop()[0].open = False
                self.names.pop()
        return self.root or Node(0)

    def _node(self, event: Any, line: int) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise Unreadable(f"has more than {MAX_NODES} values", line)
        node = Node(line)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _aliased(self, event: Any, line: int) -> Node:
        self.aliases += 1
        node = self.anchors.get(event.anchor)
        if self.aliases > MAX_ALIASES:
            raise Unreadable(f"has more than {MAX_ALIASES} aliases", line)
        if node is None or node.open:
            raise Unreadable("has an alias that points into itself or nowhere", line)
        return node

    def _begin(self, event: Any, line: int) -> None:
        node = self._node(event, line)
        if len(self.stack) >= MAX_DEPTH:
            raise Unreadable(f"is nested deeper than {MAX_DEPTH}", line)
        self._place(node)
        self.stack.append((node, isinstance(event, yaml.MappingStartEvent)))
        self.names.append(None)

    def _place(self, node: Node) -> None:
        if not self.stack:
            self.root = self.root or node
            return
        parent, mapping = self.stack[-1]
        if not mapping:
            parent.items.append(node)
        elif self.names[-1] is None:
            self.names[-1] = node.text
        else:
            # The line of a key's value that is a block is the line below; the key's own is what a person looks for.
            parent.fields[self.names[-1]] = node
            self.names[-1] = None
