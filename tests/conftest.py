"""For every test: no network but loopback, and the same examples from Hypothesis in every run."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_socket
from _pytest.nodeid import coerce_node_id
from hypothesis import settings

from tests.elasticsearch.node import GivenNode, Missing, Node, absent, memory

LOOPBACK = ["127.0.0.1", "127.0.0.2", "::1", "localhost"]


def pytest_configure(config: pytest.Config) -> None:
    # A property that fails must fail for everybody who runs the suite; `--hypothesis-seed` looks further.
    settings.register_profile("receipts", derandomize=True, deadline=None)
    settings.load_profile("receipts")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of one group go to one process. xdist 3.8 writes the group where pytest 9.2 no longer looks for it."""
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
        if groups and not item.nodeid.endswith(f"@{groups[-1]}"):
            item._id = coerce_node_id(f"{item.nodeid}@{'_'.join(groups)}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    pytest_socket.socket_allow_hosts(LOOPBACK, allow_unix_socket=True)


@pytest.fixture(scope="session")
def nodes() -> Iterator[Callable[[str], Node]]:
    """A node of a version, started when it is first asked for."""
    running: dict[str, Node | Missing] = {}
    data = TemporaryDirectory(prefix="receipts-nodes-", dir=memory(), ignore_cleanup_errors=True)

    def node(version: str) -> Node:
        if given := os.environ.get("RECEIPTS_TEST_ES_URL"):
            running[version] = GivenNode(given)
        if version not in running:
            try:
                running[version] = Node(version, Path(data.name) / version).start()
            except Missing as missing:
                running[version] = missing
        found = running[version]
        if isinstance(found, Missing):
            absent(str(found))
        assert isinstance(found, Node)
        return found

    yield node
    for found in running.values():
        if isinstance(found, Node):
            found.stop()
    data.cleanup()
