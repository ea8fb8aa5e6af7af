"""Who owns a path, as CODEOWNERS says (row B18).

The format is GitHub's (docs.github.com, "About code owners"): one pattern a line as in .gitignore, then the owners; the
last line that matches counts, and one without owners says that nobody owns it. GitLab's section headings are passed
over, with their default owners given to the lines below that name none.
"""

import re
from functools import lru_cache

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_OWNER = re.compile(r"@[\w.-]+(?:/[\w./-]+)*|[^\s@]+@[^\s@]+\.[^\s@]+")
_SECTION = re.compile(r"\^?\[(?P<name>[^\]]+)\](?:\[\d+\])?(?P<owners>(?:\s+\S+)*)\s*$")


def owners_of(path: str, text: str) -> tuple[str, ...]:
    """The owners of a path relative to the repository's root, in the order written; () when nobody owns it.

    Lines that are no rule (too long, without a valid owner behind a pattern) are passed over, as GitHub does.
    """
    wanted = path.strip("/")
    found: tuple[str, ...] = ()
    for pattern, owners in _rules(text):
        if _regex(pattern).match(wanted):
            found = owners
    return found


@lru_cache(maxsize=32)
def _rules(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    rules = []
    default: tuple[str, ...] = ()
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#") or len(line) > 4000:
            continue
        section = _SECTION.match(line)
        if section:
            default = tuple(_OWNER.findall(section["owners"]))
            continue
        pattern, *rest = re.split(r"(?<!\\)\s+", re.sub(r"(?<!\\)\s#.*$", "", line))
        owners = tuple(word for word in rest if _OWNER.fullmatch(word))
        if rest and not owners:
            continue
        rules.append((pattern.replace("\\ ", " ").replace("\\#", "#"), owners or default))
    return tuple(rules)


@lru_cache(maxsize=2048)
def _regex(pattern: str) -> re.Pattern[str]:
    """A .gitignore pattern: anchored when it has a slash before its end; a folder means all that it holds."""
    body = pattern.rstrip("/")
    anchored = "/" in body
    folder = pattern.endswith("/")
    body = body.lstrip("/")
    shape = "" if anchored else "(?:.*/)?"
    shape += "".join(_part(token) for token in re.findall(r"/\*\*/|^\*\*/|/\*\*$|\*+|\?|[^*?/]+|/", body)) or ".*"
    # `dir/*` reaches only what lies directly in the folder; any other pattern may name a folder.
    shallow = anchored and body.endswith("/*")
    tail = "/.+" if folder else ("" if shallow else "(?:/.*)?")
    return re.compile(f"{shape}{tail}$", re.DOTALL)


def _part(token: str) -> str:
    if token in ("/**/", "**/"):
        return "/(?:.*/)?" if token.startswith("/") else "(?:.*/)?"
    if token == "/**":
        return "/.*"
    if token.startswith("*"):
        return "[^/]*"
    return "[^/]" if token == "?" else re.escape(token)
