"""Names and origins of PHP frames."""

import re

_FOREIGN = re.compile(
    r"(?:^|/)vendor/|^phar:|eval\(\)'d code$|\(\d+\) : runtime-created function$|/share/(?:php|pear)/"
)
_CLOSURE = re.compile(r"\{closure:([^{}()]+)[^{}]*\}")  # PHP 8.4 says where a closure was written
_NAMESPACE = re.compile(r"(?:[A-Za-z_]\w*\\)+")
_INCLUDES = ("include", "include_once", "require", "require_once")


def in_app(file: str) -> bool:
    """False for Composer's packages, archives, code that was evaluated, and functions of the engine."""
    return bool(file) and not _FOREIGN.search(file.replace("\\", "/"))


def qualname(printed: str) -> str:
    """`Acme\\Shop\\Cart->total` -> `Cart.total`, without the namespace, as the symbols are named; closures are
    `<closure>`, `{main}` and an included file's own code `<main>`."""
    if printed == "{main}" or printed in _INCLUDES:
        return "<main>"
    if closure := _CLOSURE.search(printed):
        printed = closure[1]
    name = _NAMESPACE.sub("", printed).replace("{closure}", "<closure>").replace("->", ".").replace("::", ".")
    return name.rpartition("class@anonymous")[2].lstrip(".") if "class@anonymous" in name else name
