"""What the contract suites run over."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from retrieval.index import ENGINES, open_index
from retrieval.ports import Index
from tests.contract.index_documents import Open
from tests.elasticsearch.node import VERSIONS

STORES = ("embedded", *(f"elasticsearch-{version}" for version in VERSIONS))


def _param(store: str) -> object:
    """Tests of one node stand in one group, so that two processes never start the same."""
    marks = (pytest.mark.elasticsearch, pytest.mark.xdist_group(store)) if "-" in store else ()
    return pytest.param(store, marks=marks)


@pytest.fixture(params=[_param(s) for s in STORES])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def open_store(store: str, request: pytest.FixtureRequest) -> Open:
    """Opens the store under test: a throw-away one for None, else the one of that folder, or of a prefix for it."""
    engine, _, version = store.partition("-")
    if not version:
        return ENGINES[engine]
    url = request.getfixturevalue("nodes")(version).url
    prefixes: dict[Path, str] = {}

    async def opened(place: Path | None, **options: Any) -> Index:
        if place is None:
            return await open_index(url, temporary=True, **options)
        return await ENGINES[engine](f"{url}/{prefixes.setdefault(place, f'test-{uuid4().hex}')}", **options)

    return opened
