"""What production did not record, named exactly, with the reason and the place to get it (pure)."""

from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from bundles.harness.base import Missing
from bundles.harness.occurrences import Occurrence
from bundles.harness.python.calls import Call, Unresolved
from bundles.harness.requests import Request

_DATABASE = (
    "sqlite3",
    "psycopg",
    "sqlalchemy",
    "pymysql",
    "asyncpg",
    "django.db",
    "OperationalError",
    "IntegrityError",
)


def body_missing(request: Request, occurrence: Occurrence) -> Missing:
    """The body of a request that was seen, but not recorded."""
    return _asked("body", request=request, trace=occurrence.trace_id)


def query_missing(request: Request, occurrence: Occurrence) -> Missing:
    return _asked("query", request=request, trace=occurrence.trace_id)


def request_missing(service: str) -> Missing:
    """An exception in a web service, and no record of the request."""
    return _asked("request", service=service)


def arguments_missing(unresolved: Unresolved) -> Missing:
    return _asked(
        "arguments", function=unresolved.function.qualname, path=unresolved.function.path, params=unresolved.params
    )


def fields_missing(call: Call) -> Missing:
    """Keys of a mapping that the code reads and no record held."""
    param, keys = call.lacks[0]
    return _asked("fields", function=call.function.qualname, path=call.function.path, param=param, keys=keys)


def answers_missing(calls: tuple[str, ...]) -> Missing:
    return _asked("answers", calls=calls)


def state_missing(service: str, error: str) -> Missing:
    return _asked("state", service=service, error=error)


def stack_missing(service: str, error: str) -> Missing:
    return _asked("stack", service=service, error=error)


def application_missing(service: str) -> Missing:
    return _asked("application", service=service)


def is_database(occurrence: Occurrence) -> bool:
    """Whether the error came out of a database."""
    return any(
        name in thrown.info.type or name in thrown.info.raw for thrown in occurrence.thrown for name in _DATABASE
    )


def _asked(name: str, **values: object) -> Missing:
    module = _templates().get_template("tests/missing.j2").module
    what, why, where = (
        " ".join(str(getattr(module, f"{name}_{part}")(**values)).split()) for part in ("what", "why", "where")
    )
    return what, why, where


@lru_cache(maxsize=1)
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("templates", ""), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
