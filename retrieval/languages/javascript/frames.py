"""Names and origins of V8 frames (https://v8.dev/docs/stack-trace-api)."""

import re

from retrieval.model import Frame

# The runtime by its URL scheme and, before Node 16, by bare names; installed packages; code that was never in a file.
_FOREIGN = re.compile(
    r"""^(?:node:|internal/|electron/|wasm://|chrome-extension:|<|\[eval\]|evalmachine\.|native$|bun:|ext:|deno:)
    | ^(?:_\w+|async_hooks|buffer|child_process|dgram|dns|domain|events|fs|http|https|module|net|process|stream|timers
        |tls|tty|util|vm|zlib)\.js$
    | (?:^|/)node_modules/ | (?:^|/)webpack/(?:runtime|bootstrap) | /\.(?:yarn|pnpm)/""",
    re.VERBOSE,
)
# Possessive and without brackets, so that no text makes a match quadratic.
FRAME = re.compile(
    r"(?P<indent>\s*)at (?P<is_async>async )?"
    r"(?:(?P<name>[^()]{1,500}) \((?P<inside>.*)\)|(?P<bare>[^()\s][^()]*:\d{1,9}:\d{1,9}))(?P<tail> \{|,)?\s*$"
)
_PLACE = re.compile(r"(?:.*, )?(?P<file>.*?)(?:\?[\w=&-]*)?:(?P<line>\d{1,9}):\d{1,9}$")
_NO_PLACE = re.compile(r"<anonymous>$|native$|index \d{1,9}$")
_ALIAS = re.compile(r" \[as [^\]]*\]$")
_NATIVE_SOURCE = re.compile(r"\.(?:rs|c|cc|cpp|h|hpp|s|S)$")  # of a Rust backtrace, whose places look the same
ANONYMOUS = "<anonymous>"


def in_app(file: str) -> bool:
    """False for the runtime, installed packages, and code without a file."""
    return bool(file) and not _FOREIGN.search(file.replace("\\", "/").removeprefix("file://"))


def frame(match: re.Match[str]) -> Frame | None:
    """The frame of a match of `FRAME`; None where what stands in the brackets is no place."""
    inside = match["bare"] or match["inside"]
    if _NO_PLACE.match(inside):
        return Frame(file="", function=qualname(match["name"] or ""), in_app=False)
    place = _PLACE.match(inside)
    if not place or _NATIVE_SOURCE.search(place["file"]):
        return None
    file = place["file"]
    return Frame(file=file, function=qualname(match["name"] or ""), line=int(place["line"]), in_app=in_app(file))


def qualname(printed: str) -> str:
    """`async Repo.get [as fetch]` -> `Repo.get`, `new Cart` -> `Cart.constructor`, as the symbols are named."""
    name = _ALIAS.sub("", printed).strip()
    for word in ("async ", "get ", "set "):
        name = name.removeprefix(word)
    if name.startswith("new "):
        return f"{name[4:]}.constructor"
    return ANONYMOUS if not name or name.endswith(ANONYMOUS) else name
