"""How much of what a model said may stand; decided here, whatever the model or the server promised. Pure.

A text stands when it names nothing that its ground (the hypothesis, and the evidence that is cited) does not hold,
claims no rung of the ladder, plays nothing down, commands nothing, and holds no markup. A reworded summary must keep
every name of the summary that it replaces.
"""

import re
from collections.abc import Collection, Iterable

from retrieval.judgement.refinement.prompt import Asked, candidates
from retrieval.judgement.refinement.shape import LEAST_QUOTE
from retrieval.judgement.refinement.shown import folded, visible
from retrieval.judgement.wording import Refinement
from retrieval.model import Case, Claim, Hypothesis
from retrieval.texts import phrase

LEAST_WORDS = 3
_MARKUP = re.compile(r"[<>`@*~{}\[\]|\\^]|://|\bwww\.|(?<!\w)_|_(?!\w)")
# A name by its form: a call, a path or dotted name, an identifier, camel case, a hash, a number of two digits and more.
_NAMES = re.compile(
    r"[A-Za-z_]\w*(?=\()|\w+(?:(?:[./:-]|::)\w+)+|\w*[A-Za-z]_\w+|\b[A-Z]?[a-z0-9]+[A-Z]\w*|\b[A-Z]{3,}\b|\b[0-9a-f]{7,40}\b"
    r"|\d[\d.,:]*\d"
)
_RUNGS = re.compile(
    r"\b(?:prove[nds]?|proof|reproduc\w+|confirm\w*|certain\w*|convict\w*|definite\w*|undoubt\w*|guilty|root cause)\b",
    re.IGNORECASE,
)
_PLAYED_DOWN = re.compile(
    r"\b(?:ignor\w*|disregard\w*|harmless|benign|false (?:alarm|positive)|no action|all is well|nothing is wrong"
    r"|resolved|not? (?:an? )?(?:problem|incident|issue|error)|unrelated|innocent|safe to)\b",
    re.IGNORECASE,
)
_COMMANDS = re.compile(
    r"\b(?:rm -\w+|drop (?:table|database)|delete from|truncate|shutdown|kill -?\d|force.push|curl|wget|chmod|sudo"
    r"|roll ?back|restart|disable|please|you (?:must|should)|run the)\b",
    re.IGNORECASE,
)


def check(case: Case, asked: Asked, answer: object) -> Refinement:
    """`answer` is an object of the shape that was asked for, already validated; nothing in it is believed."""
    said = answer if isinstance(answer, dict) else {}
    best = asked.hypotheses[said["best"]]
    claims = [claim for c in said["claims"] if (claim := _claim(case, asked, best, c))]
    claims = list({folded(c.text).lower(): c for c in claims}.values())
    summary = _summary(case, asked, best, said["summary"])
    wanted = dict.fromkeys(
        phrase("hypotheses/missing.j2", f"{w['what']}_what", service=w["service"])
        for w in said["wanted"]
        if _is_missing(case, w["what"])
    )
    new = tuple(w for w in wanted if w not in best.next_required_data)
    dropped = (
        len(said["claims"]) - len(claims) + bool(visible(said["summary"]) not in ("", best.summary) and not summary)
    )
    return Refinement(rule=best.rule, summary=summary, claims=tuple(claims), wanted=new, dropped=dropped)


def _is_missing(case: Case, what: str) -> bool:
    """What lies in the case already need not be asked for."""
    there = {
        "traces": bool(case.sources.spans), "logs": bool(case.sources.logs), "metrics": bool(case.sources.series),
        "deploys": bool(case.sources.deploys), "repository": bool(case.sources.repos),
    }  # fmt: skip
    return not there.get(what, False)


def _claim(case: Case, asked: Asked, best: Hypothesis, said: dict[str, str]) -> Claim | None:
    shown, text, quote = asked.shown[said["evidence"]], visible(said["text"]), folded(said["quote"])
    quote = visible(re.sub(rf"^{re.escape(shown.id)}:\d+\| ", "", quote))
    if len(quote) < LEAST_QUOTE or quote not in shown.text:
        return None
    about = _forms(said["about"])
    if not any(_holds(text, form) for form in about) or not any(_holds(shown.text, form) for form in about):
        return None
    if text in (c.text for c in best.claims) or not sayable(text, [shown.text, *_texts(best)], _known(case)):
        return None
    return Claim(text, (shown.id,), by="model")


def _summary(case: Case, asked: Asked, best: Hypothesis, said: str) -> str:
    text = visible(said)
    cited = [asked.shown[i].text for c in best.claims for i in c.citations if i in asked.shown]
    anchors = _anchors(best)
    if text == best.summary or not anchors or any(not _holds(text, anchor) for anchor in anchors):
        return ""
    return text if sayable(text, [*_texts(best), *cited], _known(case)) else ""


def sayable(text: str, ground: Iterable[str], known: Collection[str]) -> bool:
    """Whether a text says nothing that its ground does not. `known` are names that look like plain words."""
    whole = "\n".join(ground)
    if len(text.split()) < LEAST_WORDS or any(p.search(text) for p in (_MARKUP, _PLAYED_DOWN, _COMMANDS)):
        return False
    if any(not _holds(whole, found.group()) for found in _RUNGS.finditer(text)):
        return False
    if any(not _holds(whole, name.strip(".,:")) for name in _NAMES.findall(text)):
        return False
    return all(_holds(whole, name) for name in known if _holds(text, name))


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _forms(name: str) -> tuple[str, ...]:
    """How people write a candidate: `a/b.py::C.f` also as `C.f` and `f`, `a/b.py` also as `b.py`."""
    if "::" in name:
        qualname = name.rsplit("::", 1)[-1]
        return (name, qualname, qualname.rsplit(".", 1)[-1])
    return (name, name.rsplit("/", 1)[-1])


def _texts(best: Hypothesis) -> list[str]:
    named = (best.suspected_service, best.suspected_file, best.suspected_function, best.suspected_commit)
    return [best.summary, best.failure_mode, *(c.text for c in best.claims), *(n for n in named if n)]


def _anchors(best: Hypothesis) -> list[str]:
    """The names that the rule's own summary holds, and that a reworded one must keep."""
    function = (best.suspected_function or "").rsplit("::", 1)[-1].rsplit(".", 1)[-1]
    error = best.failure_mode.split(":")[0] if ":" in best.failure_mode else ""
    named = (best.suspected_service or "", function, error, (best.suspected_commit or "")[:7])
    return [n for n in named if n and _holds(best.summary, n)]


def _known(case: Case) -> frozenset[str]:
    """Services and people of the case: names that have no form of their own."""
    people = {s.commit.author for s in case.suspects}
    edges = {n for caller, called in case.topology.edges.items() for n in (caller, *called)}
    names = {*case.sources.services, *edges, *people, *candidates(case)}
    return frozenset(n for n in names if len(n) > 1)
