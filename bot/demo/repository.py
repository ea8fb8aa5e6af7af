"""The shop's repository, built from its history as text: the same commit names on every machine.

`shop/history.mbox` is `git format-patch --root -k -p --no-signature --zero-commit`; to change the history, build the
repository, rebase it and write the file again. The names below are then other ones.
"""

from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from retrieval.code.process import GitFailed, run_git
from retrieval.errors import Reason, RepositoryError

NAME = "shop"
# Who put the patches on the main line; a name of its own, so that nobody's configuration gets into a commit's name.
_COMMITTER = ("-c", "user.name=Shop merge queue", "-c", "user.email=merge-queue@shop.example")


class Releases(Struct, frozen=True, kw_only=True):
    """What ran where when the incident was recorded, as full commit names."""

    price_good: str = "1de0a36b0fa3efb04f4e96620aaa901b4561a4ad"
    price_canary: str = "d2f6c57dd7998787937f69ba156a905eace2d43d"
    checkout: str = "ae8a39cd30b5a9fbc90833c2b155cc8f5440b5a6"
    checkout_before: str = "b2d0af9235bcef6c40f7eb6e5502ef7415416906"
    storefront: str = "b8f54207af0bc50674d5c4cd9b71632ddd6ccb92"
    storefront_before: str = "1de0a36b0fa3efb04f4e96620aaa901b4561a4ad"


RELEASES = Releases()
# Who introduced the fault. Only tests look at it.
CULPRIT = "fdffcba9fa02c738224b7dfeb7628928082f7f7a"


async def build_repository(destination: Path) -> str:
    """Build the repository with its work tree in an absent or empty folder; returns the name of the newest commit.

    Takes about a quarter of a second. Raises: RepositoryError when git is missing or too old to apply the history.
    """
    destination.mkdir(parents=True, exist_ok=True)
    history = (files("bot.demo") / "shop" / "history.mbox").read_bytes()
    try:
        await run_git(destination, ["init", "-q", "."])
        await run_git(destination, ["symbolic-ref", "HEAD", "refs/heads/main"])
        await run_git(
            destination,
            [*_COMMITTER, "-c", "gc.auto=0", "am", "-q", "-k", "--committer-date-is-author-date"],
            stdin=history,
        )
        head = await run_git(destination, ["rev-parse", "HEAD"])
    except GitFailed as failure:
        raise RepositoryError(
            f"git could not build the shop's repository: {failure.stderr[:300]}",
            reason=Reason.CORRUPT,
            subject=NAME,
            remedy="use git 2.30 or newer and an empty folder",
        ) from failure
    return head.decode("ascii").strip()
