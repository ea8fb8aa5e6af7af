"""Protocol Buffers definitions (.proto): messages, fields by their numbers, enums, services."""

from pathlib import PurePosixPath

from retrieval.contracts.base import MAX_DEPTH, MAX_ELEMENTS, Difference, Format, Judged, Unreadable, named
from retrieval.contracts.tokens import Lexicon, Reader, Token
from retrieval.model import ContractElement

_LEXICON = Lexicon(
    space=r"\s+",
    remark=r"//[^\n]*|/\*.*?(?:\*/|\Z)",
    word=r"\.?[A-Za-z_][\w.]*",
    number=r"[+-]?\d[\w.]*",
    string=r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'",
    sign=r"[{}()\[\]<>=;,:+\-/.]",
)
SOURCE = "protobuf, Updating A Message Type"
_LABELS = ("optional", "required", "repeated")
# Types whose values have one encoding: the change is not seen on the wire, as long as values fit.
_ALIKE = ({"int32", "uint32", "int64", "uint64", "bool"}, {"sint32", "sint64"}, {"string", "bytes"},
          {"fixed32", "sfixed32"}, {"fixed64", "sfixed64"})  # fmt: skip


class _Scope:
    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name


class _Reading:
    """One pass over the statements with a stack of the blocks that are open."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.stack: list[_Scope] = []
        self.elements: list[ContractElement] = []

    def run(self) -> None:
        while not self.reader.done and len(self.elements) < MAX_ELEMENTS:
            if self.reader.accept("}"):
                if not self.stack:
                    raise Unreadable("a } without its {", self.reader.line)
                self.stack.pop()
            elif not self.reader.accept(";"):
                self._statement()
        if self.stack and self.reader.done:
            raise Unreadable(f"{self.stack[-1].kind} {self.stack[-1].name} is not closed", self.reader.line)

    def _statement(self) -> None:
        word, following = self.reader.peek(), self.reader.peek(1)
        inside = self.stack[-1].kind if self.stack else ""
        opens = self.reader.peek(2) == "{"
        if word in ("message", "enum", "service", "oneof", "extend") and opens:
            self._open()
        elif inside == "service" and word == "rpc":
            self._method()
        elif inside == "enum" and following == "=":
            self._value()
        elif not inside or word in ("option", "reserved", "extensions"):
            self.reader.skip_past(";")
        elif inside in ("message", "oneof", "extend"):
            self._field()
        else:
            self.reader.skip_past(";", "}")

    def _open(self) -> None:
        token = self.reader.take()
        name = self.reader.word().lstrip(".")
        self.reader.expect("{")
        if len(self.stack) >= MAX_DEPTH:
            raise Unreadable(f"is nested deeper than {MAX_DEPTH}", token.line)
        full = self._owner() if token.text == "oneof" else named(f"{self._owner()}.{name}".lstrip("."))
        self.stack.append(_Scope(token.text, full))
        if token.text not in ("oneof", "extend"):
            self._add(token.text, full, full, full.rpartition(".")[2], token.line, {})

    def _owner(self) -> str:
        return self.stack[-1].name if self.stack else ""

    def _add(self, what: str, name: str, owner: str, member: str, line: int, facts: dict[str, str]) -> None:
        self.elements.append(
            ContractElement(
                what=what, name=named(name), owner=owner, member=named(member), line=line, facts=facts, direction="both"
            )
        )

    def _field(self) -> None:
        line = self.reader.line
        label = self.reader.take().text if self.reader.peek() in _LABELS else ""
        kind = self._type()
        name = self.reader.word()
        self.reader.expect("=")
        number = self.reader.take()
        if number.kind != "number":
            raise Unreadable(f"expected the number of field {name[:40]!r}", number.line)
        facts = {"name": named(name), "type": kind, "label": label}
        if kind == "group":
            self.reader.skip_group("{", "}")
        else:
            self.reader.skip_past(";")
        self._add("field", f"{self._owner()}.{number.text}", self._owner(), name, line, facts)

    def _type(self) -> str:
        if self.reader.accept("map"):
            self.reader.expect("<")
            key = self.reader.word()
            self.reader.expect(",")
            value = self.reader.word()
            self.reader.expect(">")
            return named(f"map<{key}, {value}>")
        return named(self.reader.word().lstrip("."))

    def _value(self) -> None:
        line, name = self.reader.line, self.reader.word()
        self.reader.expect("=")
        number = self.reader.take().text
        if number in ("-", "+"):
            number += self.reader.take().text
        self.reader.skip_past(";")
        facts = {"name": named(name)}
        self._add("enum value", f"{self._owner()}.{number}", self._owner(), name, line, facts)

    def _method(self) -> None:
        line = self.reader.take().line
        name = self.reader.word()
        request = self._message()
        self.reader.expect("returns")
        response = self._message()
        if self.reader.peek() == "{":
            self.reader.skip_group("{", "}")
        facts = {"request": request, "response": response}
        self._add("method", f"{self._owner()}.{name}", self._owner(), name, line, facts)

    def _message(self) -> str:
        self.reader.expect("(")
        streams = "stream " if self.reader.peek() == "stream" and self.reader.peek(1) != ")" else ""
        if streams:
            self.reader.take()
        kind = self.reader.word().lstrip(".")
        self.reader.expect(")")
        return named(streams + kind)


def _parse(text: str) -> tuple[ContractElement, ...]:
    tokens: list[Token] = list(_LEXICON.tokens(text))
    reading = _Reading(Reader(tokens))
    reading.run()
    return tuple(reading.elements)


def _judge(found: Difference) -> Judged:
    what, change, fact = found.element.what, found.change, found.fact
    if change == "added":
        if what == "field" and found.element.facts.get("label") == "required":
            return Judged("both", f"{SOURCE}: never add a required field")
        breaks = "readers" if what == "enum value" else ""
        return Judged(breaks, f"{SOURCE}: a new {what} is unknown to old readers")
    if change == "removed":
        rule = "a removed field must be reserved, readers see its default" if what == "field" else f"a {what} is gone"
        return Judged("readers" if what in ("field", "enum value") else "both", f"{SOURCE}: {rule}")
    if fact == "type":
        alike = any({found.old, found.new} <= group for group in _ALIKE)
        return Judged("" if alike else "both", f"{SOURCE}: {'a compatible' if alike else 'another wire'} type")
    if fact == "label":
        breaks = (
            "both"
            if "required" in (found.old, found.new)
            else "readers"
            if "repeated" in (found.old, found.new)
            else ""
        )
        return Judged(breaks, f"{SOURCE}: another cardinality")
    if fact == "name":
        return Judged("both", f"{SOURCE}: another name, which JSON and generated code use")
    return Judged("both", f"{SOURCE}: another {fact} message")


def _claims(path: PurePosixPath, head: str) -> bool:
    return path.suffix.lower() == ".proto"


FORMAT = Format("protobuf", _claims, _parse, _judge)
