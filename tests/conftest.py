"""For every test: no network but loopback, and the same examples from Hypothesis in every run."""

from collections.abc import Callable, Iterator

import pytest
import pytest_socket
from hypothesis import settings

from tests.elasticsearch.node import Missing, Node, absent

LOOPBACK = ["127.0.0.1", "127.0.0.2", "::1", "localhost"]


def pytest_configure(config: pytest.Config) -> None:
    # A property that fails must fail for everybody who runs the suite; `--hypothesis-seed` looks further.
    settings.register_profile("receipts", derandomize=True, deadline=None)
    settings.load_profile("receipts")


def pytest_runtest_setup(item: pytest.Item) -> None:
    pytest_socket.socket_allow_hosts(LOOPBACK, allow_unix_socket=True)


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Node]]:
    """A node of a version, started when it is first asked for."""
    running: dict[str, Node | Missing] = {}

    def node(version: str) -> Node:
        if version not in running:
            try:
                running[version] = Node(version, tmp_path_factory.mktemp("node")).start()
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
