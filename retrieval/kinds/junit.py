"""Test results: a failing test with its assertion and stack, the others a list per suite (row B3)."""

from collections import defaultdict
from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material, error_fields, kept, restoring
from retrieval.model import Document, TestResult

_LISTED = 200  # passing tests of one document


def documents(material: Material) -> Iterator[Document]:
    quiet: dict[tuple[str, str, str], list[tuple[int, TestResult]]] = defaultdict(list)
    for number, result in enumerate(material.sources.tests):
        if result.outcome in ("failed", "error"):
            yield _failing(material, number, result)
        else:
            quiet[(result.source.file, result.suite, result.outcome)].append((number, result))
    for (_, suite, outcome), members in sorted(quiet.items()):
        for at in range(0, len(members), _LISTED):
            part = members[at : at + _LISTED]
            yield material.document(
                "test",
                ("others", suite, outcome, [result for _, result in part]),
                title=f"{suite} {outcome}",
                text="\n".join(result.test_id for _, result in part),
                time_ns=part[0][1].time_ns or 0,
                source=part[0][1].source.file,
                attributes=kept(part),
            )


def _failing(material: Material, number: int, result: TestResult) -> Document:
    error = result.exception
    files = [path for repo in sorted(material.files) for path in material.files[repo]]
    named = error_fields(error.trace, error.type, error.message, files) if error else {}
    return material.document(
        "test",
        (result,),
        title=f"{result.test_id} {result.outcome}",
        text="\n".join(part for part in (result.message, error.raw if error else "") if part) or result.outcome,
        time_ns=result.time_ns or 0,
        severity=17,
        keys={"test_id": result.test_id, "run_id": result.properties.get("run_id", "")},
        source=str(result.source),
        attributes=kept([(number, result)]),
        **named,
    )


KIND = Kind("test", documents, restoring("tests", TestResult), timeless=True)
