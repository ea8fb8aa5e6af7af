"""A server that a test kills. Each line on stdin forks one; its address comes back on stdout.

Forked from a process that has imported everything, so that twenty lives cost seconds.
"""

import asyncio
import os
import sys
from pathlib import Path

from bot.app import Factories, Side
from bot.cli.serve import locked, serve
from bot.incidents.engine import Triage
from bot.model import Actions, Ledger
from bot.settings import Settings
from tests.bot.incidents.parts import FileChannel, FileTriage


def main(data: Path, log: Path) -> None:
    settings = Settings(data=data, listen="127.0.0.1:0")

    async def side(settings: Settings, actions: Actions, ledger: Ledger) -> Side:
        return Side(channel=FileChannel(log, ledger))

    async def triage(settings: Settings) -> Triage:
        return FileTriage(data / "bundles", 0.3)

    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            with locked(data):
                factories = Factories(triage=triage, side=side, debounce_s=0.05)
                asyncio.run(serve(settings, factories, lambda line: print(os.getpid(), line.split()[-1], flush=True)))
            os._exit(0)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
