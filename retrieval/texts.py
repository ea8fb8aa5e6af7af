"""The sentences of a hypothesis: Jinja2 macros in `templates/`, one file a rule, loaded once and strict."""

from functools import lru_cache
from types import ModuleType
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from retrieval.model.moments import clock_of, date_of


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The one strict environment for plain text; nothing is escaped here, because every surface escapes its own way."""
    made = Environment(loader=PackageLoader("templates", ""), undefined=StrictUndefined)
    made.filters["clock"] = clock_of
    made.filters["date"] = date_of
    made.filters["short"] = lambda sha: str(sha)[:7]
    made.filters["oneline"] = lambda text: " ".join(str(text).split())
    return made


@lru_cache(maxsize=64)
def _module(name: str) -> ModuleType:
    return cast(ModuleType, environment().get_template(name).module)


def phrase(template: str, macro: str, **values: Any) -> str:
    """One sentence: macro `macro` of `templates/<template>`, white space folded."""
    return " ".join(str(getattr(_module(template), macro)(**values)).split())
