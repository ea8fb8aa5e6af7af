"""The command line: a file per command, loaded only when it is called.

Exit codes: 0 done, 1 the answer is no, 2 bad input or configuration, 3 an outside system failed.
"""

import importlib
import sys

import click

from retrieval.errors import RetrievalError, StoreUnavailable

COMMANDS = {
    "demo": "build the reference incident from running services and triage it, with nothing configured",
    "serve": "webhooks, Slack, HTTP API and incident pages",
    "ingest": "put telemetry, changes or a whole case folder into the store",
    "snapshot": "build, evaluate, publish, roll back and list snapshots of code and knowledge",
    "triage": "triage one case folder",
    "verify": "check a bundle offline: digests, then the test",
    "doctor": "what is configured, reachable, missing; one line each with the remedy",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"bot.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """An alert in; a cited hypothesis and a bundle with a failing test out."""


def main(argv: list[str] | None = None) -> None:
    """Run a command; foreign errors never reach the terminal as a traceback."""
    try:
        group.main(args=argv, prog_name="receipts", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Abort:
        sys.exit(130)
    except RetrievalError as error:
        _say(f"{error} ({error.remedy})" if error.remedy else str(error))
        sys.exit(3 if isinstance(error, StoreUnavailable) else 2)
    except OSError as error:
        _say(f"{error.filename or 'the system'}: {error.strerror or type(error).__name__}")
        sys.exit(3)


def _say(text: str) -> None:
    """One line on stderr; names of files and commits in it are foreign text."""
    from bot.slack.text import clean  # loaded late, with everything else

    click.echo(f"receipts: {clean(text)}", err=True)
