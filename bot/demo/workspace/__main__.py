"""`python -m bot.demo.workspace`: the workspace in a process of its own, so that the bot can be restarted beside it."""

import asyncio
import contextlib
import signal
from pathlib import Path

import click

from bot.demo.workspace.server import Workspace


@click.command()
@click.option("--port", default=0, help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--state", type=click.Path(path_type=Path), help="File that keeps the workspace between runs.")
@click.option("--rate-limits/--no-rate-limits", default=True, help="Refuse who writes faster than Slack allows.")
def main(port: int, state: Path | None, rate_limits: bool) -> None:
    """Play Slack. Prints the address for `slack.api_url` on the first line, then serves until it is stopped."""
    asyncio.run(_serve(port, state, rate_limits))


async def _serve(port: int, state: Path | None, rate_limits: bool) -> None:
    workspace = Workspace(state, rate_limits=rate_limits)
    await workspace.start(port)
    click.echo(workspace.api_url)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await stop.wait()
    await workspace.close()


if __name__ == "__main__":
    main()
