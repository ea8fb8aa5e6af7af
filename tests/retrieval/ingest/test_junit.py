"""Test results in JUnit's XML and its dialects."""

from pathlib import Path

import pytest

from retrieval.ingest.readers.junit import READER
from retrieval.model import Problem, TestResult

from .folders import CAPTURED, TRACEBACK, reasons, run


def read(folder: Path, xml: str | bytes) -> tuple[list[TestResult], tuple[Problem, ...]]:
    path = folder / "j.xml"
    path.write_bytes(xml if isinstance(xml, bytes) else xml.encode())
    return run(READER, path)


def test_what_pytest_writes() -> None:
    results, problems = run(READER, CAPTURED / "junit" / "pytest.xml")
    assert reasons(problems) == []
    by_name = {r.test_id: r for r in results}
    assert {n.split("::")[1]: r.outcome for n, r in by_name.items()} == {
        "test_s": "skipped",
        "test_p[\\xfc]": "failed",
        "test_fail": "failed",
        "test_chain": "failed",
        "test_p[a/b]": "passed",
        "test_ok": "passed",
        "test_xf": "skipped",
        "test_err": "error",
    }
    chain = by_name["test_a::test_chain"]
    assert chain.exception is not None
    assert (chain.exception.type, chain.exception.message) == ("KeyError", "'k'")
    assert by_name["test_a::test_ok"].properties == {"owner": "pay"}
    assert by_name["test_a::test_s"].exception is None
    assert by_name["test_a::test_ok"].time_ns == 1796079916314688000
    assert by_name["test_a::test_fail"].message.startswith("AssertionError: msg")


def test_what_surefire_writes_about_reruns(tmp_path: Path) -> None:
    stack = "com.acme.NoStock: no stock\n\tat com.acme.Cart.add(Cart.java:17)"
    schema = "http://www.w3.org/2001/XMLSchema-instance"
    xml = f"""<testsuite xmlns:xsi="{schema}" name="com.acme.CartTest" time="1,234.5">
      <testcase name="adds" classname="com.acme.CartTest" time="1,234.5">
        <flakyFailure message="no stock" type="com.acme.NoStock">
        <stackTrace><![CDATA[{stack}]]></stackTrace></flakyFailure>
      </testcase>
      <testcase name="sells" classname="com.acme.CartTest" time="x">
        <failure message="no stock" type="com.acme.NoStock"><![CDATA[{stack}]]></failure>
        <rerunFailure message="no stock" type="com.acme.NoStock"/>
      </testcase>
    </testsuite>"""
    (adds, sells), problems = read(tmp_path, xml)
    assert reasons(problems) == []
    assert (adds.outcome, adds.seconds, adds.properties) == ("passed", 1234.5, {"repeats": "1", "flaky": "true"})
    assert adds.exception is not None
    assert adds.exception.trace is not None
    assert adds.exception.type == "com.acme.NoStock"
    assert (sells.outcome, sells.seconds, sells.properties["flaky"]) == ("failed", 0.0, "false")
    assert sells.suite == "com.acme.CartTest"


def test_other_dialects(tmp_path: Path) -> None:
    xml = """<ns:testsuites xmlns:ns="urn:x"><ns:testsuite name="s">
      <ns:testcase name="a"/>
      <ns:testcase name="b" file="x.test.js" status="notrun"/>
      <ns:testcase name="c" classname="c"><ns:failure type="failure">boom
        at x</ns:failure></ns:testcase>
      <ns:testcase name="d" timestamp="2025-03-11T13:10:08Z"><ns:skipped/></ns:testcase>
    </ns:testsuite></ns:testsuites>"""
    (a, b, c, d), problems = read(tmp_path, xml)
    assert reasons(problems) == []
    assert (a.test_id, a.outcome) == ("s::a", "passed")
    assert (b.test_id, b.outcome) == ("x.test.js::b", "skipped")
    assert (c.outcome, c.message, c.exception) == ("failed", "boom", None)
    assert (d.outcome, d.time_ns) == ("skipped", 1741698608000000000)


def test_a_failure_left_empty_is_told_by_what_the_test_printed(tmp_path: Path) -> None:
    xml = f"""<testsuite name="Linux-c++"><testcase name="a" classname="a" status="fail"><failure message=""/>
      <system-out>{TRACEBACK}</system-out></testcase>
      <testcase name="b" classname="b" status="fail"><failure message=""/><system-out> </system-out></testcase>
      <testcase name="c" classname="c" status="disabled"><skipped message=""/><system-out>no</system-out></testcase>
    </testsuite>"""
    (a, b, c), problems = read(tmp_path, xml)
    assert reasons(problems) == []
    assert a.exception is not None
    assert a.exception.type == "shop.cart.NoStock"
    assert (b.outcome, b.message, b.exception) == ("failed", "", None)
    assert (c.outcome, c.message) == ("skipped", "")


@pytest.mark.parametrize(
    ("attributes", "type_name"),
    [
        ('message="Failed" type=""', None),  # go-junit-report
        ('message="gone" type="test failure"', None),  # nextest
        ('message="Error: gone" type="Error"', "Error"),
        ('message="gone" type="AssertionError"', "AssertionError"),
    ],
)
def test_a_verdict_is_no_type(tmp_path: Path, attributes: str, type_name: str | None) -> None:
    (result,), _ = read(
        tmp_path, f'<testsuite name="s"><testcase name="t"><failure {attributes}/></testcase></testsuite>'
    )
    assert result.outcome == "failed"
    assert (result.exception.type if result.exception else None) == type_name


def test_a_case_outside_of_any_suite(tmp_path: Path) -> None:
    (result,), _ = read(tmp_path, "<testcase name='lonely'/>")
    assert (result.test_id, result.suite) == ("lonely", "")


def test_control_characters_do_not_break_the_file(tmp_path: Path) -> None:
    xml = (
        b'<testsuite name="s"><testcase name="a"><failure message="\x1b[31mred&#x1B;[0m &#8;\x00">' + TRACEBACK.encode()
    )
    (result,), problems = read(tmp_path, xml + b"</failure></testcase></testsuite>")
    assert reasons(problems) == []
    assert result.message == "red "
    assert result.exception is not None
    assert result.exception.type == "shop.cart.NoStock"


def test_a_truncated_file_gives_the_cases_before_the_cut(tmp_path: Path) -> None:
    cases = "".join(f'<testcase name="t{i}" classname="c"/>\n' for i in range(9000))
    results, problems = read(tmp_path, f"<testsuite name='s'>{cases}<testcase name='cut")
    assert len(results) == 9000
    assert "the 9000 test cases before it were read" in problems[0].reason
    assert problems[0].source.line == 9001


@pytest.mark.parametrize("xml", ["", "no xml", "<a><b></a>"])
def test_what_is_no_xml_is_reported(tmp_path: Path, xml: str) -> None:
    results, problems = read(tmp_path, xml)
    assert results == []
    assert "is broken XML" in problems[0].reason


def test_entities_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><testsuite><testcase name="&y;"/></testsuite>'
    results, problems = read(tmp_path, bomb)
    assert results == []
    assert "declares a document type" in problems[0].reason


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    _, problems = run(READER, tmp_path / "absent.xml")
    assert "can't be read" in problems[0].reason
