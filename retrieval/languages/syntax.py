"""Source by tree-sitter: the part that is the same for every language.

Walks are iterative, since a hostile file may nest as deep as it is long.
"""

import importlib
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from itertools import chain

from tree_sitter import Language, Node, Parser

from retrieval.languages.base import MAX_SOURCE_BYTES

MAX_CALLS = 200
_DOC_CAP = 400
_SIGNATURE_CAP = 400


@lru_cache(maxsize=16)
def _parser(grammar: str) -> Parser:
    module, _, dialect = grammar.partition(":")
    return Parser(Language(getattr(importlib.import_module(module), dialect or "language")()))


def parse_source(grammar: str, source: bytes) -> Node | None:
    """The root of the syntax tree, with ERROR nodes where the source is wrong; None above `MAX_SOURCE_BYTES`.

    `grammar` is a module, or `module:function` where one holds several dialects.
    """
    return None if len(source) > MAX_SOURCE_BYTES else _parser(grammar).parse(source).root_node


def text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def one_line(value: str, cap: int = _SIGNATURE_CAP) -> str:
    return " ".join(value.split())[:cap]


def doc_text(value: str) -> str:
    return value.strip()[:_DOC_CAP]


def descend(root: Node, skip: Collection[str] = ()) -> Iterator[Node]:
    """All named nodes below `root` in source order; what is below a node of a type in `skip` is left out."""
    stack = list(reversed(root.named_children))
    while stack:
        node = stack.pop()
        yield node
        if node.type not in skip:
            stack.extend(reversed(node.named_children))


def calls(body: Node | None, name_of: Callable[[Node], str], skip: Collection[str]) -> tuple[str, ...]:
    """Names of what a body calls as they are written, each once, in order, without those of nested definitions."""
    if body is None:
        return ()
    names: dict[str, None] = {}
    for node in chain((body,), descend(body, skip)):  # a body may be the one call
        if node.type not in skip and (name := name_of(node)):
            names[name] = None
            if len(names) >= MAX_CALLS:
                break
    return tuple(names)
