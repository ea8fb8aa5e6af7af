"""A sentence model of the BERT family by numpy alone: the forward pass of the model's folder, nothing that trains.

What it computes is what sentence-transformers computes for the same folder, to within rounding (a test compares both);
what it saves is the framework: about an eighth of the memory, and seconds of imports. `runs` says which folders it can
take; the others are left to sentence-transformers.

Sources: Devlin et al., BERT (2019); the folder's own config.json, modules.json and 1_Pooling/config.json.
"""

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGES = ("safetensors", "tokenizers")  # what it imports when it loads a model

Floats = NDArray[np.float32]

_MODULES = ["Transformer", "Pooling", "Normalize"]
_TOKENS = 1024  # of one pass: what bounds the memory of a batch
_WORTH = 64  # tokens of a pass, fewer of which are no faster on a processor of their own
_ROWS = 32
_NEEDED = ("model.safetensors", "tokenizer.json", "config.json", "modules.json")


def runs(folder: Path) -> bool:
    """Whether the folder holds a plain BERT encoder with mean pooling and unit vectors, and all that it takes."""
    try:
        modules = json.loads((folder / "modules.json").read_text())
        config = json.loads((folder / "config.json").read_text())
        pooling = json.loads((folder / str(modules[1]["path"]) / "config.json").read_text())
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return (
        all((folder / name).is_file() for name in _NEEDED)
        and [str(m["type"]).rpartition(".")[2] for m in modules] == _MODULES
        and config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and [key for key, on in sorted(pooling.items()) if key.startswith("pooling_mode") and on is True]
        == ["pooling_mode_mean_tokens"]
    )


class Bert:
    """The encoder of a folder that `runs`. Raises: ImportError (safetensors or tokenizers is not installed), OSError,
    ValueError, KeyError (the folder is not whole)."""

    def __init__(self, folder: Path) -> None:
        from safetensors import safe_open
        from tokenizers import Tokenizer

        config = json.loads((folder / "config.json").read_text())
        self._heads = int(config["num_attention_heads"])
        self._eps = float(config["layer_norm_eps"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_longest(folder, config))
        with safe_open(str(folder / "model.safetensors"), framework="numpy") as file:
            read = _Reader(file)
            self._words = read("embeddings.word_embeddings.weight")
            self._places = (
                read("embeddings.position_embeddings.weight") + read("embeddings.token_type_embeddings.weight")[0]
            )
            self._norm = read.norm("embeddings.LayerNorm")
            self._layers = [_Layer(read, f"encoder.layer.{n}") for n in range(int(config["num_hidden_layers"]))]

    def encode(self, texts: Sequence[str]) -> Floats:
        """One unit vector a text, as rows."""
        tokens = [np.asarray(e.ids) for e in self._tokenizer.encode_batch(list(texts))]
        found = np.empty((len(tokens), self._words.shape[1]), np.float32)
        by_length = sorted(range(len(tokens)), key=lambda n: len(tokens[n]))
        processors = os.cpu_count() or 1
        batches = [[by_length[n] for n in batch] for batch in _batches([len(tokens[n]) for n in by_length], processors)]
        with ThreadPoolExecutor(processors) as threads:
            passes = threads.map(lambda batch: self._pass([tokens[n] for n in batch]), batches)
            for batch, vectors in zip(batches, passes, strict=True):
                found[batch] = vectors
        return found

    def _pass(self, tokens: Sequence[NDArray[Any]]) -> Floats:
        """The texts' tokens one after another, without padding; only attention looks at each text by itself, and takes
        those of one length together where they are neighbours."""
        blocks = list(_blocks([len(ids) for ids in tokens]))
        placed = [self._words[ids] + self._places[: len(ids)] for ids in tokens]
        state = _normed(np.concatenate(placed), self._norm, self._eps)
        for layer in self._layers:
            state = _normed(layer.attended(state, blocks, self._heads), layer.first, self._eps)
            state = _normed(layer.fed(state), layer.second, self._eps)
        pooled: Floats = np.concatenate([state[rows].reshape(-1, n, state.shape[1]).mean(axis=1) for rows, n in blocks])
        lengths: Floats = np.linalg.norm(pooled, axis=1, keepdims=True)
        pooled /= np.maximum(lengths, np.float32(1e-12))
        return pooled


class _Reader:
    """Tensors by name, with or without the prefix that some exports give them."""

    def __init__(self, file: Any) -> None:
        self._file, self._names = file, frozenset(file.keys())
        self._prefix = "bert." if any(name.startswith("bert.") for name in self._names) else ""

    def __call__(self, name: str) -> Floats:
        if self._prefix + name not in self._names:
            raise KeyError(f"the weights hold no {name}")
        return np.asarray(self._file.get_tensor(self._prefix + name), np.float32)

    def norm(self, name: str) -> tuple[Floats, Floats]:
        return self(f"{name}.weight"), self(f"{name}.bias")

    def linear(self, *names: str) -> tuple[Floats, Floats]:
        """Weights of linear maps side by side, so that one product does for all of them."""
        weights = np.concatenate([self(f"{name}.weight") for name in names])
        return np.ascontiguousarray(weights.T), np.concatenate([self(f"{name}.bias") for name in names])


class _Layer:
    def __init__(self, read: _Reader, name: str) -> None:
        self._asked = read.linear(*(f"{name}.attention.self.{part}" for part in ("query", "key", "value")))
        self._joined = read.linear(f"{name}.attention.output.dense")
        self._wide = read.linear(f"{name}.intermediate.dense")
        self._back = read.linear(f"{name}.output.dense")
        self.first = read.norm(f"{name}.attention.output.LayerNorm")
        self.second = read.norm(f"{name}.output.LayerNorm")

    def attended(self, state: Floats, blocks: Sequence[tuple[slice, int]], heads: int) -> Floats:
        """The state and what attention adds to it."""
        size = state.shape[1] // heads
        asked = _mapped(state, self._asked)
        asked[:, : state.shape[1]] *= np.float32(size**-0.5)
        seen = np.empty_like(state)
        for rows, length in blocks:
            query, key, value = asked[rows].reshape(-1, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
            weights = _softmax(query @ key.transpose(0, 1, 3, 2))
            seen[rows].reshape(-1, length, heads, size)[:] = (weights @ value).transpose(0, 2, 1, 3)
        found = _mapped(seen, self._joined)
        found += state
        return found

    def fed(self, state: Floats) -> Floats:
        """The state and what the two wide maps add to it."""
        found = _mapped(_gelu(_mapped(state, self._wide)), self._back)
        found += state
        return found


def _mapped(state: Floats, linear: tuple[Floats, Floats]) -> Floats:
    found: Floats = state @ linear[0]
    found += linear[1]
    return found


def _longest(folder: Path, config: dict[str, Any]) -> int:
    """Tokens of a text that count, the special ones included."""
    limit = int(config["max_position_embeddings"])
    stated = folder / "sentence_bert_config.json"
    if stated.is_file():
        limit = min(limit, int(json.loads(stated.read_text()).get("max_seq_length") or limit))
    return limit


def _batches(lengths: Sequence[int], processors: int) -> Iterator[list[int]]:
    """Places of texts that go through together: in their order, no more than the bound on tokens lets in, and about
    equal shares for all processors, so that none waits for another's."""
    left = sum(lengths)
    parts = max(1, -(-left // _TOKENS))
    if left >= _WORTH * processors:
        parts = -(-parts // processors) * processors
    batch: list[int] = []
    total = 0
    for place, length in enumerate(lengths):
        if batch and (total + length > _TOKENS or (total + length / 2) * parts > left):
            yield batch
            left, parts = left - total, max(1, parts - 1)
            batch, total = [], 0
        batch.append(place)
        total += length
    if batch:
        yield batch


def _blocks(lengths: Sequence[int]) -> Iterator[tuple[slice, int]]:
    """Rows of neighbouring texts that are equally long, and how long."""
    start = 0
    for length, texts in groupby(lengths):
        end = start + length * len(list(texts))
        yield slice(start, end), length
        start = end


def _normed(state: Floats, norm: tuple[Floats, Floats], eps: float) -> Floats:
    state = state - state.mean(axis=1, keepdims=True)
    scale: Floats = np.sqrt(np.einsum("ij,ij->i", state, state)[:, None] / np.float32(state.shape[1]) + np.float32(eps))
    state /= scale
    state *= norm[0]
    state += norm[1]
    return state


def _softmax(scores: Floats) -> Floats:
    np.subtract(scores, scores.max(axis=-1, keepdims=True), out=scores)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def _gelu(x: Floats) -> Floats:
    """x * (1 + erf(x / sqrt 2)) / 2, in place, with erf by Abramowitz and Stegun 7.1.26 (error below 1.5e-7)."""
    z, t, series = (np.empty((_ROWS, x.shape[1]), np.float32) for _ in range(3))
    for start in range(0, len(x), _ROWS):
        rows = x[start : start + _ROWS]
        _times_gauss(rows, z[: len(rows)], t[: len(rows)], series[: len(rows)])
    return x


def _times_gauss(x: Floats, z: Floats, t: Floats, series: Floats) -> None:
    """`_gelu` of a few rows, so few that they and the three buffers stay in the processor's cache."""
    np.abs(x, out=z)
    z *= np.float32(0.5**0.5)
    np.multiply(z, np.float32(0.3275911), out=t)
    t += np.float32(1)
    np.reciprocal(t, out=t)
    np.multiply(t, np.float32(1.061405429), out=series)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += np.float32(factor)
        series *= t
    np.multiply(z, z, out=z)
    np.negative(z, out=z)
    np.exp(z, out=z)
    z *= series
    np.subtract(np.float32(1), z, out=z)
    np.copysign(z, x, out=z)
    z += np.float32(1)
    x *= z
    x *= np.float32(0.5)
