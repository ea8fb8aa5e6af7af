"""`receipts serve`: webhooks, Slack, HTTP API and incident pages, until SIGTERM or SIGINT."""

import asyncio
import fcntl
import gc
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from aiohttp import web

from bot.app import Factories, build, runner_of
from bot.settings import Settings, load
from retrieval.errors import BadInput, StoreLocked

LOCK_FILE = "server.lock"


@click.command(name="serve")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="settings as YAML (else RECEIPTS_CONFIG)"
)
def command(config: Path | None) -> None:
    """Webhooks, Slack, HTTP API and incident pages."""
    settings = load(config, os.environ)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with locked(settings.data):
        from bot.live import open_memory  # loaded late: --help and a wrong setting need none of it

        asyncio.run(serve(settings, Factories(memory=open_memory), _started))


def _started(line: str) -> None:
    _settle_memory()
    click.echo(line, err=True)


async def serve(settings: Settings, factories: Factories, say: Callable[[str], None]) -> None:
    """Run until told to stop; `say` gets the line that names the address once it listens.

    Raises: BadInput when the address cannot be used; StoreError when the state cannot.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    runner = runner_of(build(settings, factories))
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.host, settings.port)
        await _listen(site, settings.listen)
        say(f"receipts: listening on http://{_address(runner)}")
        await stop.wait()
    finally:
        await runner.cleanup()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _settle_memory() -> None:
    """What was loaded stays: the collector need not look at it again and again, nor after every few hundred of the many
    records that a triage reads (a third of its time, measured over 200,000 documents)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


async def _listen(site: web.TCPSite, listen: str) -> None:
    try:
        await site.start()
    except OSError as error:
        raise BadInput(
            f"listen: {listen} cannot be used ({os.strerror(error.errno or 0)})",
            subject="listen",
            remedy="choose another",
        ) from error


def _address(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """The data folder for this process alone; the kernel takes the lock back however the process ends.

    Raises: StoreLocked, BadInput.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        handle = (data / LOCK_FILE).open("a+", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"data: {data} cannot be written ({error.strerror})", subject="data") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.seek(0)
            owner = handle.read(40).strip() or "unknown"
            raise StoreLocked(
                f"data: another server (process {owner}) uses {data}",
                subject=str(data),
                remedy="stop it, or give this one another `data`",
            ) from None
        handle.truncate(0)
        handle.write(f"{os.getpid()}\n")
        handle.flush()
        yield
