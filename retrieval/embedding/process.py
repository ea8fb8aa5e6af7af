"""Keeps the process that the embedding model lives in, and asks it.

A process of its own, so that a triage never waits for a backlog of documents to be embedded, because the framework that
some models need takes most of a gigabyte and seconds to import, and because its crash is then nobody else's.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

from retrieval.embedding import worker
from retrieval.errors import EmbeddingUnavailable, Reason

EXTRA = 'Install the extra `vectors`, or set embedding.model to "" to do without.'
_OURS = "RECEIPTS_"  # settings, secrets among them, that the model need not know
_HOME = Path(__file__).parents[2]  # where this package is imported from
_STOP_S = 5.0
# Batches run side by side, each on one processor, which leaves none idle between two products.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


class ModelProcess:
    """Blocking, one question at a time; started by the first question, and again by the next one after it died."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def start(self) -> None:
        """Load the model, unless it is. Raises: EmbeddingUnavailable, but not when it was closed meanwhile."""
        with self._turn:
            try:
                self._running()
            except EmbeddingUnavailable:
                if not self._closed:
                    raise

    def encode(self, texts: list[str]) -> list[tuple[float, ...]]:
        """Unit vectors in the order of the texts. Raises: EmbeddingUnavailable."""
        with self._turn:
            process = self._running()
            answer = _exchange(process, json.dumps(texts).encode())
            if answer is None:
                self._end()
                raise EmbeddingUnavailable(
                    "The process of the embedding model ended.", reason=Reason.UNAVAILABLE, subject=self._source
                )
        rows = np.frombuffer(answer, dtype="<f4").reshape(len(texts), -1)
        return [tuple(row) for row in rows.tolist()]

    def close(self) -> None:
        """End the process, also while it loads or answers; who waits for it gets EmbeddingUnavailable."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._turn:
            self._end()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._closed:
            raise EmbeddingUnavailable(
                "The embedding model was closed.", reason=Reason.UNAVAILABLE, subject=self._source
            )
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        self._process = process = _started(self._source)
        told = None if process.stdout is None else worker.read(process.stdout)
        if told != b"":
            self._end()
            raise _refusal(self._source, told)
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(_STOP_S)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _started(source: str) -> "subprocess.Popen[bytes]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    path = os.pathsep.join([str(_HOME), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        # -P: the current folder is no place to import from.
        [sys.executable, "-P", "-c", f"import sys; from {worker.__name__} import main; main(sys.argv[1])", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**kept, "PYTHONPATH": path, **_ONE_THREAD},
    )


def _exchange(process: "subprocess.Popen[bytes]", question: bytes) -> bytes | None:
    if process.stdin is None or process.stdout is None:
        return None
    try:
        worker.write(process.stdin, question)
        return worker.read(process.stdout)
    except (BrokenPipeError, ConnectionResetError, ValueError):  # ValueError: closed meanwhile
        return None


def _refusal(source: str, told: bytes | None) -> EmbeddingUnavailable:
    kind, _, text = (told or b"").decode("utf-8", "replace").partition("\n")
    if kind == "missing":
        return EmbeddingUnavailable(f"What the embedding model needs is not installed: {text}.", remedy=EXTRA)
    if kind == "broken":
        return EmbeddingUnavailable(
            f"The embedding model {source} cannot be loaded: {text}.",
            reason=Reason.CORRUPT,
            subject=source,
            remedy="Name a folder with a whole sentence-transformers model.",
        )
    return EmbeddingUnavailable(
        "The process of the embedding model ended before the model was loaded.",
        reason=Reason.UNAVAILABLE,
        subject=source,
        remedy="Look for a lack of memory: it takes about 250 MB, a gigabyte where sentence-transformers runs it.",
    )
