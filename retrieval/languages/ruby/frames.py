"""Names and origins of Ruby frames."""

import re

# The standard library, installed gems, the interpreter's own code, and code that was never in a file.
_FOREIGN = re.compile(
    r"^<internal:|^\(|/gems/|/lib(?:64)?/ruby/|/rubygems/|/vendor/bundle/|(?:^|/)bin/(?:rails|rake|bundle|puma|irb|rspec)$"
)
_INSIDE = re.compile(r"^(?:(?:block(?: \(\d+ levels\))?|rescue|ensure) in )+|^singleton ")


def in_app(file: str) -> bool:
    """False for the standard library, gems, and code without a file."""
    return bool(file) and not _FOREIGN.search(file.replace("\\", "/"))


def qualname(printed: str) -> str:
    """`block (2 levels) in Shop::Cart#total` -> `Shop.Cart.total`: blocks and clauses as the method that they stand in.
    Before Ruby 3.4 the method alone is printed."""
    return _INSIDE.sub("", printed).replace("::", ".").replace("#", ".")
