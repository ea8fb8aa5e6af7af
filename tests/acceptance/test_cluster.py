"""The same answers from a real Elasticsearch: by the command line, and by a server whose store it is."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from bot.app import SystemClock
from bot.cli.ingest import ingest
from bot.cli.triage import parse_alert
from bot.live import open_memory
from bot.metrics import Metrics
from bot.settings import Settings
from retrieval.model import Case
from tests import case_folder
from tests.acceptance.test_triage import answer, receipts
from tests.elasticsearch.node import VERSIONS, Node
from tests.prepared import prepare_environment, world_readable_folder

COMPOSE = Path(__file__).resolve().parents[2] / "helm" / "compose.yaml"
CLUSTER = [pytest.mark.elasticsearch, pytest.mark.xdist_group("elasticsearch-8.19.9")]


@pytest.fixture(scope="module")
def environment() -> Iterator[Path]:
    folder = world_readable_folder()
    yield prepare_environment(folder)
    shutil.rmtree(folder)


@pytest.fixture
def case(tmp_path: Path, environment: Path) -> Path:
    case_folder.build(tmp_path / "case", environment)
    return tmp_path / "case"


@pytest.fixture
def url(nodes: Callable[[str], Node]) -> str:
    return nodes("8.19.9").url


async def indices(url: str) -> set[str]:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/_mapping") as found:
        return set(await found.json())


class TestCluster:
    pytestmark = CLUSTER

    @pytest.mark.sandbox
    async def test_a_triage_in_a_cluster_tells_and_packs_the_same_and_leaves_nothing(
        self, case: Path, url: str, tmp_path: Path
    ) -> None:
        before = await indices(url)
        told: list[dict[str, Any]] = []
        digests = set()
        for name, options in (("here", []), ("there", ["--store", f"{url}/mine"])):
            done = answer(receipts("triage", case, "--json", "--out", tmp_path / name, *options, cwd=tmp_path))
            digests.add(hashlib.sha256(Path(str(done.pop("bundle"))).read_bytes()).hexdigest())
            done.pop("timings_ms")
            told.append(done)

        assert told[0]["verdict"] == "proved"
        assert told[0] == told[1]
        assert len(digests) == 1
        assert await indices(url) == before

    async def test_a_server_answers_the_same_from_either_store(self, case: Path, url: str, tmp_path: Path) -> None:
        alerts = parse_alert((case / "alert.json").read_bytes(), "alertmanager")
        concluded: list[Case] = []

        async def silent(stage: str, known: str) -> None:
            return None

        for name, store in (("embedded", {}), ("cluster", {"url": f"{url}/server-of-a-test"})):
            settings = Settings.model_validate(
                {
                    "data": str(tmp_path / name),
                    "sandbox": {"enabled": False},
                    "embedding": {"model": ""},
                    "store": store,
                }
            )
            ingested = await ingest(settings, "case", [case])
            assert ingested.stored.counts["log"] > 0
            live = await open_memory(settings, SystemClock(), Metrics())
            assert live.close is not None
            found, _ = await live.triage.run("inc-1", alerts, wish=None, progress=silent)
            await live.close()
            concluded.append(found)

        here, there = concluded
        assert there.verdict == here.verdict
        assert there.rankings == here.rankings
        assert there.hypotheses[0].summary == here.hypotheses[0].summary
        assert [c.text for c in there.hypotheses[0].claims] == [c.text for c in here.hypotheses[0].claims]
        late = [p.reason for p in there.sources.problems if p.source.file == "store"]
        assert all(reason.endswith("search: timeout") for reason in late)  # a server doesn't wait for a slow cluster

    def test_a_cluster_that_is_away_ends_a_triage_with_the_remedy(self, case: Path, tmp_path: Path) -> None:
        done = receipts("triage", case, "--no-sandbox", "--store", "http://127.0.0.1:9", cwd=tmp_path)

        assert done.returncode == 3
        assert "does not answer" in done.stderr


def test_the_compose_file_starts_a_version_that_is_tested_and_only_for_this_machine() -> None:
    (service,) = yaml.safe_load(COMPOSE.read_text())["services"].values()

    name, version = service["image"].split(":")
    assert name == "elasticsearch"
    assert version in VERSIONS
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["healthcheck"]["test"]
