"""Which frames of a traceback are the application's own."""

import re

# Installed packages, the standard library, and code without a file (https://docs.python.org/3/library/site.html).
_FOREIGN = re.compile(
    r"""/(?:site|dist)-packages/
    | /lib(?:64)?/(?:python|pypy)\d(?:\.\d+)?t?/
    | /(?:python|pypy)\d(?:\.\d+)?t?/(?:asyncio|concurrent|importlib|multiprocessing|unittest|json|logging)/
    | (?:^|/)lib/(?:threading|runpy|contextlib|functools)\.py$
    | (?:^|/)\.tox/ | (?:^|/)\.nox/ | \.egg/
    | ^<""",
    re.VERBOSE | re.IGNORECASE,
)


def in_app(file: str) -> bool:
    """False for installed packages, the standard library, and what was never in a file (`<frozen ...>`, `<string>`)."""
    return bool(file) and not _FOREIGN.search(file.replace("\\", "/"))
