"""Whether a snapshot may be published (row C5): probes are asked of it, and what they find is looked up again.

A probe is a search text. Every snapshot is asked about a sample of its own documents, by their titles and symbols; a
file of probes adds the questions that people ask, each with what its answer has to name. An answer is faithful when its
citation resolves: the document is found again by its id in the same snapshot with the same words, what it cites of a
repository is there at the pinned commit, and it names what was expected. The two gates are RAG measures under other
names: empty-result rate, and faithfulness as in Es et al., "RAGAS" (2023), judged by code instead of by a model.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from msgspec import Struct
from msgspec.structs import replace

from bot.snapshots.book import Evaluation, Snapshot
from retrieval.errors import BadInput, RepositoryError
from retrieval.kinds.registry import KNOWLEDGE
from retrieval.model import Document, Hit, Query
from retrieval.ports import Index, Repository

SAMPLE = 100  # documents of a snapshot that are asked for
_PER_KIND = 2_000
_FAILED = 20
_TOP = 5
_MAX_PROBES = 1 << 20


class Probe(Struct, frozen=True):
    """`expect` is a part of the path, symbol or title that one of the first answers has to name; "" asks for any."""

    text: str
    expect: str = ""


class Judge:
    """Asks one snapshot."""

    def __init__(
        self, index: Index, snapshot: Snapshot, repositories: Mapping[str, Repository], acl: Sequence[str]
    ) -> None:
        self._index, self._snapshot, self._repositories = index, snapshot, repositories
        self._base = Query(acl=tuple(acl), snapshot=snapshot.id, kinds=tuple(sorted(KNOWLEDGE)), limit=_TOP)

    async def evaluation(self, probes: Sequence[Probe]) -> Evaluation:
        """Of the probes given and of its own. Raises: StoreError."""
        wanted = [*probes, *(Probe(_about(document), document.title) for document in await self._sample())]
        empty, unfaithful = list[str](), list[str]()
        for probe in wanted:
            hits = await self._index.lexical(replace(self._base, text=probe.text))
            if not hits:
                empty.append(f"found nothing: {probe.text[:80]}")
            elif not await self._faithful(hits, probe):
                unfaithful.append(f"not faithful: {probe.text[:80]}")
        answered = len(wanted) - len(empty)
        return Evaluation(
            probes=len(wanted),
            empty_hits=round(len(empty) / len(wanted), 4) if wanted else 1.0,
            faithfulness=round(1 - len(unfaithful) / answered, 4) if answered else 0.0,
            failed=tuple([*empty, *unfaithful][:_FAILED]),
        )

    async def _sample(self) -> list[Document]:
        """The same documents of the same snapshot every time, of all kinds."""
        found: list[Document] = []
        for kind in self._base.kinds:
            hits = await self._index.lexical(replace(self._base, kinds=(kind,), limit=_PER_KIND))
            found += [hit.document for hit in hits]
        named = [document for document in found if document.title.strip()]
        return sorted(named, key=lambda d: hashlib.blake2b(d.id.encode(), digest_size=8).digest())[:SAMPLE]

    async def _faithful(self, hits: Sequence[Hit], probe: Probe) -> bool:
        cited = next((h.document for h in hits if _names(h.document, probe.expect.lower())), None)
        if cited is None:
            return False
        again = await self._index.get([cited.id], acl=self._base.acl)
        if not again or again[0].snapshot != self._snapshot.id or again[0].text != cited.text:
            return False
        return await self._resolves(cited)

    async def _resolves(self, document: Document) -> bool:
        """What a symbol cites is there: its file at the pinned commit, and its name in the lines that it is said to be
        on."""
        repo, lines = str(document.attributes.get("repo", "")), document.attributes.get("lines")
        if document.kind != "symbol":
            return True
        if repo not in self._repositories or not document.paths or not isinstance(lines, list | tuple):
            return False
        try:
            content = await self._repositories[repo].read(self._snapshot.heads.get(repo, ""), document.paths[0])
        except RepositoryError:
            return False
        said = b"\n".join(content.splitlines()[max(0, int(lines[0]) - 1) : int(lines[-1])])
        name = document.title.rpartition("::")[2].rpartition(".")[2]
        return name.encode() in said


def _names(document: Document, expected: str) -> bool:
    return expected in " ".join([document.title, *document.paths, *document.symbols]).lower()


def _about(document: Document) -> str:
    return " ".join([document.title, *(s.rpartition("::")[2] for s in document.symbols[:3])])


def read_probes(path: Path) -> list[Probe]:
    """A YAML list of texts, or of `{text: …, expect: …}`. Raises: BadInput."""
    try:
        with path.open("rb") as file:
            raw = yaml.safe_load(file.read(_MAX_PROBES))
    except (OSError, yaml.YAMLError) as error:
        raise BadInput(f"{path}: cannot be read as YAML", subject=str(path), remedy="a list of texts") from error
    found = [Probe(one) if isinstance(one, str) else _probe(one) for one in raw] if isinstance(raw, list) else []
    if not found or any(not probe.text.strip() for probe in found):
        raise BadInput(
            f"{path}: holds no list of probes", subject=str(path), remedy="- text: what is asked\n  expect: a name"
        )
    return found


def _probe(raw: object) -> Probe:
    if not isinstance(raw, dict):
        return Probe("")
    return Probe(str(raw.get("text") or ""), str(raw.get("expect") or ""))
