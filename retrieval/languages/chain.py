"""From traces and the sentences between them to chains."""

from collections.abc import Iterable

from msgspec.structs import replace

from retrieval.model import StackTrace

MAX_CHAIN = 32  # links; deeper nesting is cut, so that no reader of a trace has to fear recursion

Item = StackTrace | str  # a trace, or the kind of link to the trace before it


def link(items: Iterable[Item]) -> list[StackTrace]:
    """Join each trace that a link sentence precedes to the one before the sentence, which becomes its cause."""
    chains: list[StackTrace] = []
    depth: list[int] = []
    kind = ""
    for item in items:
        if isinstance(item, str):
            kind = item if chains else ""
            continue
        if kind and depth[-1] < MAX_CHAIN:
            chains[-1] = replace(item, cause=replace(chains[-1], cause_kind=kind))
            depth[-1] += 1
        else:
            chains.append(item)
            depth.append(1)
        kind = ""
    return chains
