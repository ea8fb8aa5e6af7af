"""For every test: no network but loopback, and the same examples from Hypothesis in every run."""

import pytest
import pytest_socket
from hypothesis import settings

LOOPBACK = ["127.0.0.1", "127.0.0.2", "::1", "localhost"]


def pytest_configure(config: pytest.Config) -> None:
    # A property that fails must fail for everybody who runs the suite; `--hypothesis-seed` looks further.
    settings.register_profile("receipts", derandomize=True, deadline=None)
    settings.load_profile("receipts")


def pytest_runtest_setup(item: pytest.Item) -> None:
    pytest_socket.socket_allow_hosts(LOOPBACK, allow_unix_socket=True)
