"""A small grammar for JSON values, answering in the shape of Slack's `blocks.validate`.

A `Rule` looks at one value and appends what is wrong with it; rules are composed. Nothing is raised and nothing is
changed: a validator that alters its input hides the fault (slack_sdk's models drop unknown keys, for example).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict


class Fault(TypedDict):
    """One error as `blocks.validate` lists it. `pointer` is a JSON pointer (RFC 6901) to the invalid element."""

    code: str
    message: str
    field: str
    pointer: str
    constraint: dict[str, Any]


Rule = Callable[[Any, str, list[Fault]], None]
Fields = Mapping[str, tuple[Rule, bool]]


def fault(code: str, message: str, pointer: str, **constraint: Any) -> Fault:
    """A fault whose `field` is the pointer's last part."""
    return {
        "code": code,
        "message": message,
        "field": pointer.rsplit("/", 1)[-1],
        "pointer": pointer,
        "constraint": constraint,
    }


def required(rule: Rule) -> tuple[Rule, bool]:
    return rule, True


def optional(rule: Rule) -> tuple[Rule, bool]:
    return rule, False


def anything(value: Any, pointer: str, faults: list[Fault]) -> None:
    """Accepts every value."""


def string(most: int | None = None, least: int = 1) -> Rule:
    """A string of `least` to `most` characters."""

    def check(value: Any, pointer: str, faults: list[Fault]) -> None:
        if not isinstance(value, str):
            faults.append(_wrong_type(pointer, "string", value))
        elif len(value) < least:
            faults.append(fault("failed_constraint", f"must be at least {least} characters", pointer, min=least))
        elif most is not None and len(value) > most:
            faults.append(
                fault("failed_constraint", f"must be at most {most} characters", pointer, max=most, got=len(value))
            )

    return check


def url(most: int = 3000) -> Rule:
    """An absolute http(s) or mailto address."""
    length = string(most)

    def check(value: Any, pointer: str, faults: list[Fault]) -> None:
        before = len(faults)
        length(value, pointer, faults)
        if len(faults) == before and not value.startswith(("http://", "https://", "mailto:")):
            faults.append(fault("failed_constraint", "must be a valid URL", pointer, format="url"))

    return check


def boolean(value: Any, pointer: str, faults: list[Fault]) -> None:
    if not isinstance(value, bool):
        faults.append(_wrong_type(pointer, "boolean", value))


def integer(least: int = 0, most: int | None = None) -> Rule:
    def check(value: Any, pointer: str, faults: list[Fault]) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            faults.append(_wrong_type(pointer, "integer", value))
        elif value < least or (most is not None and value > most):
            faults.append(fault("failed_constraint", f"must lie in {least}..{most}", pointer, min=least, max=most))

    return check


def one_of(*allowed: str) -> Rule:
    def check(value: Any, pointer: str, faults: list[Fault]) -> None:
        if value not in allowed:
            faults.append(
                fault(
                    "failed_constraint",
                    f"must be one of: {', '.join(allowed)}",
                    pointer,
                    type="enum",
                    expected=list(allowed),
                    got=str(value)[:80],
                )
            )

    return check


def array(rule: Rule, least: int = 1, most: int | None = None) -> Rule:
    def check(value: Any, pointer: str, faults: list[Fault]) -> None:
        if not isinstance(value, list):
            faults.append(_wrong_type(pointer, "array", value))
            return
        if len(value) < least:
            faults.append(fault("failed_constraint", f"must have at least {least} items", pointer, min=least))
        if most is not None and len(value) > most:
            faults.append(
                fault("failed_constraint", f"must have at most {most} items", pointer, max=most, got=len(value))
            )
        for position, item in enumerate(value[: 4 * (most or 250)]):
            rule(item, f"{pointer}/{position}", faults)

    return check


def record(fields: Fields, *, one_required: Sequence[str] = ()) -> Rule:
    """An object with these fields and no others; of `one_required` at least one must be there."""

    def check(value: Any, pointer: str, faults: list[Fault]) -> None:
        if not isinstance(value, dict):
            faults.append(_wrong_type(pointer, "object", value))
            return
        for name in value:
            if name not in fields:
                faults.append(fault("additional_property", f"unknown field: {name!s:.80}", f"{pointer}/{name!s:.80}"))
        for name, (rule, must) in fields.items():
            if name in value:
                rule(value[name], f"{pointer}/{name}", faults)
            elif must:
                faults.append(fault("missing_required_field", f"missing required field: {name}", f"{pointer}/{name}"))
        if one_required and not any(name in value for name in one_required):
            names = ", ".join(one_required)
            faults.append(fault("missing_required_field", f"one of these is required: {names}", pointer))

    return check


def by_type(kinds: Mapping[str, Rule]) -> Rule:
    """An object whose `type` chooses the rule; a type that is not in `kinds` is not allowed here."""

    def check(value: Any, pointer: str, faults: list[Fault]) -> None:
        if not isinstance(value, dict):
            faults.append(_wrong_type(pointer, "object", value))
            return
        kind = value.get("type")
        rule = kinds.get(kind) if isinstance(kind, str) else None
        if rule is None:
            faults.append(
                fault(
                    "unsupported_type",
                    f"unsupported type: {str(kind)[:80]}",
                    f"{pointer}/type",
                    type="enum",
                    expected=sorted(kinds),
                    got=str(kind)[:80],
                )
            )
        else:
            rule(value, pointer, faults)

    return check


def _wrong_type(pointer: str, expected: str, value: Any) -> Fault:
    return fault("invalid_type", f"must be of type {expected}", pointer, type=expected, got=type(value).__name__)
