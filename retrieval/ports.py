"""The seams: what a room needs from outside, and what the outside promises."""

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from retrieval.model import Commit, Document, Hit, Query, Question, Reply


class Index(Protocol):
    """Where documents are kept and found. The contract suite in `tests/contract/index.py` runs over every engine.

    Order is always (score descending, time descending, id ascending), exact, whatever order documents came in.
    An empty `acl` finds nothing. An empty `kinds`, `services`, `environment`, `language` restricts nothing; an unknown
    value in them finds nothing. Documents past their `expires_ns` are not found.
    """

    name: str

    async def put(self, documents: Sequence[Document]) -> int:
        """Insert or replace by id; returns how many are durable. All of the batch or none of it.

        Raises: StoreError, SecretSurvived (a document still holds a secret; none is written).
        """
        ...

    async def get(self, ids: Sequence[str], *, acl: Sequence[str]) -> list[Document]:
        """The documents that exist and may be seen, in the order of `ids`."""
        ...

    async def lexical(self, query: Query) -> list[Hit]:
        """BM25 (k1 1.2, b 0.75) over the analysed text, filters first. Empty text gives matches of the filters, newest
        first, score 0."""
        ...

    async def dense(self, query: Query) -> list[Hit]:
        """Exact cosine against `query.vector` over what passes the filters; [] when the store holds no vectors."""
        ...

    async def symbolic(self, query: Query) -> list[Hit]:
        """Documents that share a path, symbol, signature or join key with the query; score is the A4 symbol overlap."""
        ...

    async def count(self, query: Query) -> int: ...

    async def delete(self, query: Query) -> int:
        """Delete what passes the filters; returns how many."""
        ...

    async def sweep(self, now_ns: int) -> int:
        """Delete what expired before `now_ns`; returns how many."""
        ...

    async def alias(self, name: str, snapshot: str) -> None:
        """Point a name at a snapshot, atomically; a Query may then give the name as its snapshot."""
        ...

    async def close(self) -> None: ...


class Embedder(Protocol):
    """Texts to unit vectors. `model_id` pins name and weights."""

    model_id: str
    dimensions: int

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Raises: EmbeddingUnavailable."""
        ...


class Model(Protocol):
    """A language model that is asked one question at a time and answers in the shape that was asked for. The contract
    suite in `tests/contract/test_models.py` runs over every registered provider.

    It only words what others found: whatever goes wrong is a `Reply` with its outcome, never an exception, and no key,
    prompt or completion is ever logged.
    """

    provider: str
    name: str

    async def ask(self, question: Question) -> Reply:
        """One answer, validated against `question.shape`. Cancelling it ends the request."""
        ...

    async def probe(self) -> Reply:
        """Whether it could be asked now, without asking: `answered` with no value, or what stands in the way."""
        ...

    async def close(self) -> None: ...


class Repository(Protocol):
    """One git repository, read only, whatever state it is in. Commits are full lower-case SHA-1 names.

    Every method raises RepositoryError: NOT_FOUND (no such commit or path), CORRUPT, SHALLOW (history ends before the
    answer), TIMEOUT.
    """

    name: str
    path: Path

    async def resolve(self, revision: str) -> str:
        """The full name of a commit; abbreviations of seven digits and more are accepted."""
        ...

    async def is_ancestor(self, ancestor: str, descendant: str) -> bool: ...

    async def log(self, *, after: str = "", until: str, limit: int = 2000) -> list[Commit]:
        """Commits reachable from `until` and not from `after`, with zero-context hunks, children before parents."""
        ...

    async def commit(self, sha: str) -> Commit: ...

    async def files(self, sha: str) -> list[str]: ...

    async def read(self, sha: str, path: str) -> bytes:
        """A file's bytes at a commit; at most 4 MiB."""
        ...

    async def read_many(self, sha: str, paths: Sequence[str]) -> dict[str, bytes]:
        """Several files at a commit, at once; what is absent or larger than 4 MiB is left out."""
        ...

    def read_versions(
        self, wanted: Sequence[tuple[str, str]], *, limit: int
    ) -> AsyncIterator[tuple[list[tuple[str, str]], bytes]]:
        """Files at many commits, as full names: each distinct content once, with every (commit, path) that has it. What
        is absent or larger than `limit` bytes is left out."""
        ...

    async def diff(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """Unified diff text with three lines of context."""
        ...

    async def checkout(self, sha: str, destination: Path) -> None:
        """A clean tree without `.git` in an empty or absent folder; symbolic links that leave it are dropped."""
        ...


class Clock(Protocol):
    def now_ns(self) -> int: ...


class Redactor(Protocol):
    """Takes secrets and personal data out of text, deterministically (row A5)."""

    def text(self, value: str) -> str: ...

    def value(self, key: str, value: object) -> object:
        """A field: the key's name takes part in the decision; dicts and lists are walked."""
        ...

    def survivors(self, text: str) -> Iterable[str]:
        """Names of detectors that still match; empty when clean."""
        ...
