"""The embedding model: found without being loaded, loaded without a network, refused with a remedy."""

import asyncio
import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bot.settings import Settings
from retrieval.embedding import open_embedder, worker
from retrieval.embedding.process import ModelProcess
from retrieval.embedding.sentence import DEFAULT_MODEL
from retrieval.errors import EmbeddingUnavailable, Reason

ROOT = Path(__file__).resolve().parents[3]
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None or importlib.util.find_spec(DEFAULT_MODEL) is None,
    reason="the extra `vectors` is not installed",
)


@pytest.mark.vectors
@needs_model
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
async def test_texts_of_one_meaning_are_near_and_a_text_is_itself_in_any_batch() -> None:
    model = await open_embedder()
    near, same, far = await model.embed(
        ["the card was declined", "payment refused by the bank", "sunny weather in May"]
    )

    assert model.dimensions == len(near) == 384
    assert model.model_id.startswith(f"{DEFAULT_MODEL}@53aa51172d142c89")
    assert dot(near, near) == pytest.approx(1.0, abs=1e-5)
    assert dot(near, same) > dot(near, far) + 0.2
    again = (await model.embed(["x " * 500, "the card was declined"]))[1]
    assert again == pytest.approx(near, abs=1e-5)
    assert await model.embed([]) == []
    await model.warm()
    await model.close()
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await model.embed(["too late"])


@pytest.mark.vectors
@needs_model
@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
async def test_the_settings_default_is_found_in_the_extras_package(name: str) -> None:
    assert Settings().embedding.model in name
    assert (await open_embedder(name)).model_id.startswith("all-MiniLM-L6-v2@53aa5117")


def dot(left: tuple[float, ...], right: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_importing_it_loads_no_framework() -> None:
    code = (
        "import sys, retrieval.embedding; sys.exit(any(m in sys.modules for m in ('torch', 'sentence_transformers')))"
    )

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@needs_model
@pytest.mark.parametrize("name", ["no_such_package", "org/no-such-model", "../../etc", "a b"])
async def test_a_model_that_is_nowhere_is_refused_with_a_remedy(name: str) -> None:
    with pytest.raises(EmbeddingUnavailable) as refused:
        await open_embedder(name)

    assert refused.value.remedy and refused.value.subject == name


@needs_model
async def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailable, match="no weights") as refused:
        await open_embedder(str(tmp_path))

    assert refused.value.reason is Reason.NOT_FOUND


@needs_model
async def test_a_folder_with_half_a_model_is_refused_when_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(EmbeddingUnavailable, match="config"):
        await open_embedder(str(tmp_path))

    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 4}))
    assert (await open_embedder(str(tmp_path))).dimensions == 4


@needs_model
async def test_a_hub_model_that_was_fetched_before_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "hub" / "models--sentence-transformers--tiny" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(b"weights")
    (snapshot / "config.json").write_text(json.dumps({"hidden_size": 4}))
    monkeypatch.setenv("HF_HOME", str(tmp_path))

    found = await open_embedder("tiny")

    assert found.model_id.startswith("tiny@")


async def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(EmbeddingUnavailable, match="no embedding model") as refused:
        await open_embedder()

    assert "vectors" in refused.value.remedy


async def test_a_model_that_nothing_installed_can_run_is_refused_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(EmbeddingUnavailable, match="sentence_transformers is not installed") as refused:
        await open_embedder(str(tmp_path))

    assert "vectors" in refused.value.remedy


@pytest.mark.vectors
@needs_model
async def test_who_asks_little_waits_for_no_backlog_and_a_model_that_died_is_loaded_again() -> None:
    model = await open_embedder()
    await model.warm()
    backlog = asyncio.create_task(model.embed([f"line {n} " * 50 for n in range(320)]))
    await asyncio.sleep(0)
    await model.embed(["one question"])
    assert not backlog.done()

    process = model._process._process
    assert process is not None
    process.kill()
    with pytest.raises(EmbeddingUnavailable, match="ended"):
        await backlog
    assert len(await model.embed(["again"])) == 1
    await model.close()


@pytest.mark.vectors
@needs_model
async def test_the_model_s_process_starts_also_where_every_warning_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    model = await open_embedder()

    assert len(await model.embed(["payment declined"])) == 1
    await model.close()


async def test_a_process_that_cannot_load_its_model_says_why(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    for code, kind in (("raise ImportError('x')", Reason.NOT_INSTALLED), ("raise OSError('x')", Reason.CORRUPT),
                       ("raise SystemExit(3)", Reason.UNAVAILABLE)):  # fmt: skip
        (tmp_path / "sentence_transformers.py").write_text(f"{code}\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(tmp_path))
            process = ModelProcess(str(tmp_path / "model"))
            with pytest.raises(EmbeddingUnavailable) as refused:
                process.encode(["x"])
        assert refused.value.reason is kind
        process.close()


def test_frames_are_read_one_by_one_and_a_cut_off_one_is_the_end() -> None:
    stream = io.BytesIO()
    worker.write(stream, b"one")
    worker.write(stream, b"")
    stream.write(b"\x05\x00\x00\x00cut")
    stream.seek(0)

    assert [worker.read(stream) for _ in range(4)] == [b"one", b"", None, None]
