"""The light runtime computes what sentence-transformers computes, and knows what it cannot run."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from retrieval.embedding import bert, open_embedder
from retrieval.embedding.sentence import DEFAULT_MODEL

ROOT = Path(__file__).resolve().parents[3]
SPEC = importlib.util.find_spec(DEFAULT_MODEL)
FOLDER = Path(next(iter(SPEC.submodule_search_locations or ()))) / "model" if SPEC else Path()
needs_model = pytest.mark.skipif(SPEC is None, reason="the extra `vectors` is not installed")

TEXTS = [
    "",
    "connection to <*> refused after <*> ms",
    "ValueError: invalid literal for int() with base 10: '1,663.80-'",
    "naïve café 支付失败 🙂 ошибка",
    "at com.example.shop.PriceFormatter.format(PriceFormatter.java:42)",
    "word " * 700,  # longer than the model reads
    *(f"GET /v2/rates?to=IS&l={n} took {n * 7} ms" for n in range(40)),
]

REFERENCE = """
import json, sys
import numpy as np
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True)
rows = model.encode(json.load(sys.stdin), batch_size=8, normalize_embeddings=True, show_progress_bar=False)
np.save(sys.argv[2], rows)
"""


@pytest.mark.vectors
@needs_model
@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is None, reason="nothing to compare with")
def test_the_vectors_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    out = tmp_path / "reference.npy"
    subprocess.run(
        [sys.executable, "-c", REFERENCE, str(FOLDER), str(out)],
        input=json.dumps(TEXTS).encode(),
        stderr=subprocess.DEVNULL,
        check=True,
    )
    expected = np.load(out)

    found = bert.Bert(FOLDER).encode(TEXTS)

    assert found.shape == expected.shape == (len(TEXTS), 384)
    assert np.abs(found - expected).max() < 2e-6


@pytest.mark.vectors
@needs_model
def test_a_text_has_one_vector_whatever_stands_beside_it() -> None:
    model = bert.Bert(FOLDER)
    together = model.encode(TEXTS)

    for place in (0, 3, 5, 20):
        alone = model.encode([TEXTS[place]])[0]
        assert np.abs(alone - together[place]).max() < 2e-6
        assert np.linalg.norm(alone) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_a_batch_holds_no_more_tokens_than_the_bound_unless_one_text_does(processors: int) -> None:
    lengths = [256] * 20 + [3] * 50 + [5000, 1]

    batches = list(bert._batches(lengths, processors))

    assert [place for batch in batches for place in batch] == list(range(len(lengths)))
    assert all(sum(lengths[n] for n in batch) <= bert._TOKENS or len(batch) == 1 for batch in batches)


@pytest.mark.parametrize("lengths", [sorted(6 + n * 7 % 11 for n in range(32)), [256] * 12, [9] * 1000])
def test_processors_get_equal_shares(lengths: list[int]) -> None:
    batches = list(bert._batches(lengths, 2))

    shares = [sum(lengths[n] for n in batch) for batch in batches]
    assert len(shares) % 2 == 0
    assert max(shares) - min(shares) <= max(lengths)


def test_few_tokens_are_not_split() -> None:
    assert list(bert._batches([8, 9, 10], 2)) == [[0, 1, 2]]
    assert list(bert._batches([], 2)) == []


def copied(folder: Path) -> Path:
    """The default model's folder without its weights."""
    return Path(shutil.copytree(FOLDER, folder, ignore=lambda _, names: [n for n in names if n == "model.safetensors"]))


@pytest.mark.vectors
@needs_model
@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
    ],
)
async def test_a_model_of_another_make_is_left_to_sentence_transformers(
    file: str, change: dict[str, object], tmp_path: Path
) -> None:
    folder = copied(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"weights")
    assert (await open_embedder(str(folder))).runtime == "numpy"

    config = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**config, **change}))

    assert not bert.runs(folder)
    assert (await open_embedder(str(folder))).runtime == "sentence-transformers"


@pytest.mark.vectors
@needs_model
def test_a_folder_that_is_not_whole_is_not_run(tmp_path: Path) -> None:
    folder = copied(tmp_path / "model")
    assert not bert.runs(folder)  # no weights
    (folder / "model.safetensors").write_bytes(b"weights")
    assert bert.runs(folder)
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:2]))
    assert not bert.runs(folder)  # its vectors would not be unit vectors
    (folder / "modules.json").write_text("[")
    assert not bert.runs(folder)


@pytest.mark.vectors
@needs_model
def test_weights_that_lack_a_tensor_are_refused_by_its_name(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    folder = copied(tmp_path / "model")
    save_file({"embeddings.word_embeddings.weight": np.zeros((4, 384), np.float32)}, str(folder / "model.safetensors"))

    with pytest.raises(KeyError, match=r"embeddings\.position_embeddings"):
        bert.Bert(folder)


@pytest.mark.vectors
@needs_model
def test_running_it_imports_no_framework() -> None:
    code = (
        "import sys; from pathlib import Path; from retrieval.embedding.bert import Bert;"
        "Bert(Path(sys.argv[1])).encode(['x']);"
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'sentence_transformers')))"
    )

    assert subprocess.run([sys.executable, "-c", code, str(FOLDER)], cwd=ROOT, check=False).returncode == 0
