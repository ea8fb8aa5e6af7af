"""Foreign Python text to a syntax tree; what it warns of is its own business."""

import ast
import warnings


def parse_python(text: str) -> ast.Module | None:
    """None for what is no program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
            compile(text, "patched", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return tree
