"""JSON Schema, as OpenAPI and plain schema files use it, to elements. Pure.

Each named schema is walked once, wherever it is referred to, so that cycles end and nothing is expanded. References
out of the file are names, never followed.
"""

from retrieval.contracts.base import MAX_DEPTH, MAX_ELEMENTS, Difference, Judged, named
from retrieval.contracts.trees import Node
from retrieval.model import ContractElement

_FACTS = ("format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "const")
_TIGHTER = {"minimum", "minLength", "minItems"}
_LIMITS = {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}
_LOCAL = ("#/components/schemas/", "#/definitions/", "#/$defs/")


class Walk:
    """Collects the elements of schemas; `refs` are the named schemas that each owner refers to."""

    def __init__(self) -> None:
        self.elements: list[ContractElement] = []
        self.refs: dict[str, dict[str, None]] = {}

    def schema(self, node: Node, owner: str, root: str, *, name: str = "", depth: int = 0) -> None:
        """Walk one schema. `root` is the named schema or the message that it belongs to."""
        if depth > MAX_DEPTH or len(self.elements) >= MAX_ELEMENTS:
            return
        self._referred(node, root)
        self._values(node, owner, name)
        required = {item.text for item in node.listed("required")}
        for field, below in node.each("properties"):
            self._field(below, (owner, field), root, required=field in required, depth=depth)
        for part in node.listed("allOf"):
            self.schema(part, owner, root, name=name, depth=depth + 1)
        for kind in ("oneOf", "anyOf"):
            for at, part in enumerate(node.listed(kind)):
                if not _is_null(part):
                    self.schema(part, f"{owner}|{at}" if len(node.listed(kind)) > 2 else owner, root, depth=depth + 1)
        if (items := node.get("items")) is not None:
            self.schema(items, f"{owner}[]", root, depth=depth + 1)
        extra = node.get("additionalProperties")
        if extra is not None and extra.fields:
            self.schema(extra, f"{owner}{{}}", root, depth=depth + 1)

    def _field(self, node: Node, place: tuple[str, str], root: str, *, required: bool, depth: int) -> None:
        owner, field = place
        name = named(f"{owner}.{field}")
        facts = {"type": type_of(node), "required": "yes" if required else "no", "nullable": nullable(node)}
        facts |= {fact: named(text) for fact in _FACTS if (text := node.said(fact))}
        if node.fields.get("default") is not None:
            facts["default"] = "yes"
        self.elements.append(
            ContractElement(what="field", name=name, owner=root, member=named(field), line=node.line, facts=facts)
        )
        self.schema(node, name, root, name=field, depth=depth + 1)

    def _values(self, node: Node, owner: str, name: str) -> None:
        for value in node.listed("enum"):
            said = named(value.text)
            self.elements.append(
                ContractElement(
                    what="enum value",
                    name=named(f"{owner}={said}"),
                    owner=name or owner,
                    member=said,
                    line=value.line,
                )
            )

    def _referred(self, node: Node, root: str) -> None:
        if name := local(node.said("$ref")):
            self.refs.setdefault(root, {})[name] = None


def local(ref: str) -> str:
    """The name of the schema in this file that a reference means, "" of any other reference."""
    for prefix in _LOCAL:
        if ref.startswith(prefix):
            return named(ref.removeprefix(prefix).replace("~1", "/").replace("~0", "~"))
    return ""


def type_of(node: Node) -> str:
    """`string`, `array of Coupon`, `Coupon`, `integer or string`; null is told by `nullable`."""
    if ref := node.said("$ref"):
        return local(ref) or named(ref)
    typed = node.get("type")
    kinds = [t.text for t in typed.items] if typed is not None and typed.items else [node.said("type")]
    for form in ("oneOf", "anyOf", "allOf"):
        kinds += [type_of(part) for part in node.listed(form)[:20] if not _is_null(part)]
    told = " or ".join(sorted({k for k in kinds if k and k != "null"}))
    items = node.get("items")
    if told == "array" and items is not None:
        ref = items.said("$ref")
        return f"array of {local(ref) or named(ref) or items.said('type') or 'anything'}"
    return named(told) or ("object" if node.get("properties") is not None else "anything")


def nullable(node: Node) -> str:
    """OpenAPI 3.0's `nullable`, Swagger's `x-nullable`, or null among the types."""
    typed = node.get("type")
    if node.said("nullable") == "true" or node.said("x-nullable") == "true":
        return "yes"
    if typed is not None and any(t.text == "null" for t in typed.items):
        return "yes"
    return "yes" if any(_is_null(p) for form in ("oneOf", "anyOf") for p in node.listed(form)) else "no"


def _is_null(node: Node) -> bool:
    return node.said("type") == "null"


def judge_schema(found: Difference, source: str) -> Judged:
    """What a difference of a field or of a value breaks, by the direction in which it travels.

    The rule of thumb of every checker of compatibility (openapi-diff, oasdiff, Confluent's for JSON Schema): be strict
    in what is written, tolerant in what is read. `source` is named in the rule.
    """
    out = found.element.direction in ("response", "both")
    into = found.element.direction in ("request", "both")
    if found.change == "changed":
        reads, writes, rule = _changed(found)
    elif found.element.what == "enum value":
        added = found.change == "added"
        reads, writes = added, not added
        rule = "a new value reaches readers that do not know it" if added else "a value is no longer taken"
    elif found.change == "added":
        reads, writes = False, found.element.facts.get("required") == "yes"
        rule = "a new required field is not sent by old writers" if writes else "a new optional field is ignored"
    else:
        reads, writes, rule = True, False, "a field is gone for those who read it"
    breaks = [who for who, does in (("readers", reads and out), ("writers", writes and into)) if does]
    return Judged("both" if len(breaks) == 2 else "".join(breaks), f"{source}: {rule}")


def _changed(found: Difference) -> tuple[bool, bool, str]:
    fact, old, new = found.fact, found.old, found.new
    if fact == "type" or (fact in ("format", "const", "pattern") and new):
        wider = {old, new} == {"integer", "number"}
        return (not (wider and new == "integer"), not (wider and new == "number"), f"another {fact}")
    if fact == "required":
        return new == "no", new == "yes", "no longer always there" if new == "no" else "required now"
    if fact == "nullable":
        return new == "yes", new == "no", "may be null now" if new == "yes" else "must not be null now"
    if fact in _LIMITS:
        tighter = _tighter(fact, old, new)
        return not tighter, tighter, "a tighter limit" if tighter else "a wider limit"
    return False, False, f"another {fact}"


def _tighter(fact: str, old: str, new: str) -> bool:
    if not old or not new:
        return bool(new)
    try:
        return float(new) > float(old) if fact in _TIGHTER else float(new) < float(old)
    except ValueError:
        return True
