"""A server that a test kills. Each line on stdin forks one; its address comes back on stdout. It tells a file, with
a pause between its steps, or the Slack that the third argument names.

Forked from a process that has imported everything, so that twenty lives cost seconds.
"""

import asyncio
import os
import sys
from pathlib import Path

from bot.app import Factories, Side
from bot.cli.serve import locked, serve
from bot.demo.workspace.server import BOT_TOKEN, SIGNING_SECRET
from bot.demo.workspace.state import DEFAULT_CHANNEL
from bot.incidents.engine import Triage
from bot.model import Actions, Ledger
from bot.settings import Settings, load
from bot.slack.app import Means, build_slack
from tests.bot.incidents.parts import FileChannel, FileTriage


def main(data: Path, log: Path, slack: str, pause_s: float) -> None:
    environ = {"RECEIPTS_DATA": str(data), "RECEIPTS_LISTEN": "127.0.0.1:0"}
    if slack:
        environ |= {
            "RECEIPTS_SLACK__API_URL": slack,
            "RECEIPTS_SLACK__BOT_TOKEN": BOT_TOKEN,
            "RECEIPTS_SLACK__SIGNING_SECRET": SIGNING_SECRET,
            "RECEIPTS_SLACK__CHANNEL": DEFAULT_CHANNEL,
        }
    settings = load(None, environ)

    async def side(settings: Settings, actions: Actions, ledger: Ledger) -> Side:
        if not slack:
            return Side(channel=FileChannel(log, ledger, pause_s))
        built = await build_slack(settings, actions, ledger, Means(environment={}, interval=0.01))
        return Side(channel=built.channel, handler=built.handler, close=built.close)

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
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
