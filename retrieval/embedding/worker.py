"""The embedding model in a process of its own: run by `bert` where that can, else by sentence-transformers.

In:  a frame with a JSON list of texts.      Out: a frame with a vector for each, float32, one after another.
First, before any question, comes a frame with "" when the model is loaded, or with why it cannot be: the error's kind
(missing | broken), a line break, its text. A frame is its length in four bytes, little endian, and its content.

The process ends when nobody can ask any more: its input is then at its end, however the one who asked has ended.
"""

import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from retrieval.embedding import bert

_BATCH = 16
_LENGTH = struct.Struct("<I")


def read(stream: IO[bytes]) -> bytes | None:
    """The next frame; None at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None


def write(stream: IO[bytes], content: bytes) -> None:
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def load(source: str) -> Callable[[list[str]], Any]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if bert.runs(Path(source)):
        return bert.Bert(Path(source)).encode
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(source, device="cpu", local_files_only=True)
    model.eval()

    def encode(texts: list[str]) -> Any:
        return model.encode(texts, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False)

    return encode


def main(source: str) -> None:
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the libraries print is no answer
    os.nice(5)  # a backlog of documents must not keep a triage from the processor
    try:
        encode = load(source)
    except ImportError as error:
        write(answers, f"missing\n{error}".encode())
        return
    except (OSError, ValueError, KeyError) as error:
        write(answers, f"broken\n{error}".encode())
        return
    write(answers, b"")
    while (question := read(questions)) is not None:
        write(answers, encode(json.loads(question)).astype("<f4").tobytes())
