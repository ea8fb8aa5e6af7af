"""What a person answered to a question of this house (row B8), read as the recorded value it stands for (pure).

Answers come in `Case.options["answers"]`: {what was asked: the text that was given}. They are cited as `answer: WHAT`.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from bundles.harness.flat import parse_json
from bundles.harness.requests import METHODS, Request
from retrieval.model import Case

_BODY = re.compile(r"^the request body of (\S+) (\S+?)(?:, e\.g\. .*)?$")
_QUERY = re.compile(r"^the query string of (\S+) (\S+?)(?:, e\.g\. .*)?$")
_REQUEST = re.compile(r"^a failing request to (\S+):")
_ARGUMENTS = re.compile(r"^the arguments? (.+) of (\S+)\(\) in (\S+)$")
_FIELDS = re.compile(r"^the fields? (.+) of the argument (\S+) of (\S+)\(\) in (\S+)$")
MAX_ANSWER = 100_000


def answers_of(case: Case) -> dict[str, str]:
    """All answers that are texts of a sensible size, by what was asked."""
    given = case.options.get("answers")
    if not isinstance(given, dict):
        return {}
    return {str(k): v for k, v in sorted(given.items()) if isinstance(v, str) and v.strip() and len(v) <= MAX_ANSWER}


def with_answers(request: Request | None, case: Case, service: str) -> tuple[Request | None, str]:
    """The request with what a person added to it, and the citation of that ("" where nothing was)."""
    for what, text in answers_of(case).items():
        if request is None:
            named = _REQUEST.match(what)
            made = _request_line(text) if named and named[1] == service else None
            if made is not None:
                return made, f"answer: {what}"
            continue
        body, query = _BODY.match(what), _QUERY.match(what)
        if body and (body[1], body[2]) == (request.method, request.path) and request.body is None:
            return replace(request, body=_document(text)), f"answer: {what}"
        if query and (query[1], query[2]) == (request.method, request.path) and not request.query:
            return replace(request, query=urlsplit(text.strip()).query or text.strip().lstrip("?")), f"answer: {what}"
    return request, ""


def argument_answers(case: Case) -> list[tuple[str, Any, str]]:
    """(name, value, citation) of arguments and fields: a JSON object with the names, or the text of the only one."""
    out: list[tuple[str, Any, str]] = []
    for what, text in answers_of(case).items():
        match = _ARGUMENTS.match(what) or _FIELDS.match(what)
        if not match:
            continue
        names = [n.strip() for n in match[1].split(",")]
        document = parse_json(text)
        if isinstance(document, dict) and set(names) & set(document):
            out += [(name, document[name], f"answer: {what}") for name in names if name in document]
        elif len(names) == 1:
            out.append((names[0], document if document is not None else _scalar(text.strip()), f"answer: {what}"))
    return out


def _document(text: str) -> Any:
    parsed = parse_json(text.strip())
    return parsed if parsed is not None else text


def _scalar(text: str) -> Any:
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    return {"true": True, "false": False, "null": None, "None": None}.get(text, text.strip("'\""))


def _request_line(text: str) -> Request | None:
    """`POST /orders?x=1` with the body on the lines below."""
    line, _, rest = text.strip().partition("\n")
    parts = line.split()
    if len(parts) < 2 or parts[0].upper() not in METHODS:
        return None
    url = urlsplit(parts[1])
    body = _document(rest) if rest.strip() else None
    return Request(method=parts[0].upper(), path=url.path or "/", query=url.query, body=body)
