"""Bodies that real exporters sent, and a server that takes them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.intake.otlp.encoding import JSON, PROTOBUF, Signal
from tests.bot.intake.otlp.sending import Sent, Server, serving

CAPTURED = Path(__file__).parents[3] / "captured" / "otlp"


def captured() -> list[Sent]:
    found = []
    for path in sorted(CAPTURED.iterdir()):
        signal = next(s for s in Signal if s in path.name)
        headers = {"Content-Type": JSON if ".json" in path.name else PROTOBUF}
        if path.suffix == ".gz":
            headers["Content-Encoding"] = "gzip"
        found.append(Sent(path.name, signal, path.read_bytes(), headers))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sent" in metafunc.fixturenames:
        metafunc.parametrize("sent", captured(), ids=lambda sent: sent.name)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(tmp_path) as here:
        yield here
