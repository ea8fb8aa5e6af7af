"""GraphQL schema definitions: types, fields, arguments, enum values, unions, directives."""

from pathlib import PurePosixPath

from retrieval.contracts.base import MAX_ELEMENTS, Difference, Format, Judged, Unreadable, named
from retrieval.contracts.tokens import Lexicon, Reader
from retrieval.model import ContractElement

_LEXICON = Lexicon(
    space=r"[\s,\ufeff]+",
    remark=r"#[^\n]*",
    word=r"[A-Za-z_]\w*",
    number=r"-?\d[\w.+-]*",
    string=r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"',
    sign=r"\.\.\.|[{}()\[\]:=|&!@$]",
)
_TYPES = ("type", "interface", "input")
SOURCE = "GraphQL findBreakingChanges"


class _Reading:
    """Definitions one after the other; nothing nests deeper than a field's arguments."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.elements: list[ContractElement] = []

    def run(self) -> None:
        while not self.reader.done and len(self.elements) < MAX_ELEMENTS:
            self._description()
            self.reader.accept("extend")
            word = self.reader.peek()
            if word in _TYPES:
                self._type()
            elif word == "enum":
                self._enum()
            elif word == "union":
                self._union()
            elif word == "scalar":
                line = self.reader.take().line
                self._add("type", self.reader.word(), ("", ""), line, {"kind": "scalar"})
                self._directives()
            elif word == "directive":
                self._directive()
            elif word in ("schema", "query", "mutation", "subscription", "fragment", "{"):
                self.reader.skip_past_group()
            else:
                raise Unreadable(f"expected a definition, found {word[:40]!r}", self.reader.line)

    def _description(self) -> None:
        if self.reader.kind() == "string":
            self.reader.take()

    def _add(
        self, what: str, name: str, words: tuple[str, str], line: int, facts: dict[str, str], way: str = ""
    ) -> None:
        owner, member = words
        self.elements.append(
            ContractElement(
                what=what, name=named(name), owner=owner or name, member=member or name, line=line, facts=facts,
                direction=way,
            )
        )  # fmt: skip

    def _type(self) -> None:
        token = self.reader.take()
        name = named(self.reader.word())
        interfaces: list[str] = []
        if self.reader.accept("implements"):
            self.reader.accept("&")
            interfaces.append(self.reader.word())
            while self.reader.accept("&") or self.reader.kind() == "word":
                interfaces.append(self.reader.word())
        self._directives()
        facts = {"kind": token.text, "implements": ", ".join(sorted(interfaces))}
        self._add("type", name, ("", ""), token.line, facts)
        way = "request" if token.text == "input" else "response"
        if self.reader.accept("{"):
            while not self.reader.accept("}"):
                self._field(name, way)

    def _field(self, owner: str, way: str) -> None:
        self._description()
        line, name = self.reader.line, named(self.reader.word())
        full = f"{owner}.{name}"
        at = len(self.elements)
        if self.reader.accept("("):
            while not self.reader.accept(")"):
                self._argument(full, name)
        facts = self._value_type()
        self._add("input field" if way == "request" else "field", full, (owner, name), line, facts, way)
        self.elements.insert(at, self.elements.pop())
        self._directives()

    def _argument(self, field: str, owner: str) -> None:
        self._description()
        line, name = self.reader.line, named(self.reader.word())
        self._add("argument", f"{field}({name})", (owner, name), line, self._value_type(), "request")
        self._directives()

    def _value_type(self) -> dict[str, str]:
        self.reader.expect(":")
        told = ""
        while self.reader.accept("["):
            told += "["
        told += self.reader.word()
        while self.reader.peek() in ("]", "!"):
            told += self.reader.take().text
        facts = {"type": named(told)}
        if self.reader.accept("="):
            facts["default"] = "yes"
            self._constant()
        return facts

    def _constant(self) -> None:
        opening = self.reader.peek()
        if opening in ("[", "{"):
            self.reader.skip_group(opening, {"[": "]", "{": "}"}[opening])
        else:
            self.reader.accept("$")
            self.reader.take()

    def _directives(self) -> None:
        while self.reader.accept("@"):
            self.reader.word()
            self.reader.skip_group("(", ")")

    def _enum(self) -> None:
        line = self.reader.take().line
        name = named(self.reader.word())
        self._directives()
        self._add("type", name, ("", ""), line, {"kind": "enum"})
        if self.reader.accept("{"):
            while not self.reader.accept("}"):
                self._description()
                line, value = self.reader.line, named(self.reader.word())
                self._directives()
                self._add("enum value", f"{name}.{value}", (name, value), line, {})

    def _union(self) -> None:
        line = self.reader.take().line
        name = named(self.reader.word())
        self._directives()
        self._add("type", name, ("", ""), line, {"kind": "union"})
        if self.reader.accept("="):
            self.reader.accept("|")
            while True:
                line, member = self.reader.line, named(self.reader.word())
                self._add("union member", f"{name}|{member}", (name, member), line, {})
                if not self.reader.accept("|"):
                    break

    def _directive(self) -> None:
        line = self.reader.take().line
        self.reader.expect("@")
        name = "@" + named(self.reader.word())
        self._add("directive", name, ("", ""), line, {})
        if self.reader.accept("("):
            while not self.reader.accept(")"):
                self._argument(name, name)
        self.reader.accept("repeatable")
        self.reader.expect("on")
        self.reader.accept("|")
        self.reader.word()
        while self.reader.accept("|"):
            self.reader.word()


def _parse(text: str) -> tuple[ContractElement, ...]:
    reading = _Reading(Reader(list(_LEXICON.tokens(text))))
    reading.run()
    return tuple(reading.elements)


def _judge(found: Difference) -> Judged:
    what, change = found.element.what, found.change
    if change == "removed":
        return Judged("both", f"{SOURCE}: {what} removed")
    if change == "added":
        if what in ("argument", "input field"):
            needed = found.element.facts["type"].endswith("!") and "default" not in found.element.facts
            return Judged("writers" if needed else "", f"{SOURCE}: {'required' if needed else 'optional'} {what} added")
        dangerous = what in ("enum value", "union member")
        return Judged("readers" if dangerous else "", f"{SOURCE}: {what} added")
    if found.fact == "type":
        return _type_changed(found)
    if found.fact == "implements":
        lost = set(found.old.split(", ")) - set(found.new.split(", ")) - {""}
        return Judged("readers" if lost else "", f"{SOURCE}: implemented interfaces changed")
    return Judged("both" if found.fact == "kind" else "", f"{SOURCE}: {found.fact} changed")


def _type_changed(found: Difference) -> Judged:
    """Results may become stricter (`T` to `T!`), arguments may become laxer; nothing else is safe."""
    stricter = found.new.replace("!", "") == found.old.replace("!", "") and found.new.count("!") > found.old.count("!")
    laxer = found.new.replace("!", "") == found.old.replace("!", "") and not stricter
    into = found.element.direction == "request"
    safe = laxer if into else stricter
    return Judged("" if safe else "writers" if into else "readers", f"{SOURCE}: {found.element.what} changed its type")


def _claims(path: PurePosixPath, head: str) -> bool:
    return path.suffix.lower() in (".graphql", ".graphqls", ".gql")


FORMAT = Format("graphql", _claims, _parse, _judge)
