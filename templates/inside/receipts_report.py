"""A pytest plugin that writes what happened as data. Runs inside the sandbox, in the tested service's own environment.

Loaded by name (`PYTEST_PLUGINS=receipts_report`). Old-style hook wrappers, for they are what pytest 6.2 to 9 share.
Writes /report/report.json (one file per worker under pytest-xdist) when the session ends:

    {"tests": [{"id", "outcome": passed|failed|error|skipped, "exceptions": [{"type", "message", "frames": [...]}]}],
     "collection": [{"id", "message"}]}

With RECEIPTS_ANSWERS=1 each test also has "answers": what the functions returned that the test itself called, as
[name, repr]; two runs of one test can be compared by them.

`exceptions` is the chain as it would be printed, the one that reached pytest first, then its causes and contexts, then
the members of groups. A frame is [file, function, line].
"""

import json
import os
import re
import sys

import pytest

FRAMES, CHAIN, TEXT, ANSWERS = 200, 20, 4000, 50


def _frames(trace):
    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append([code.co_filename, code.co_name, trace.tb_lineno])
        trace = trace.tb_next
    return frames if len(frames) <= FRAMES else frames[: FRAMES // 4] + frames[-3 * FRAMES // 4 :]


def _type(error):
    kind = type(error)
    module = getattr(kind, "__module__", "")
    return kind.__qualname__ if module in ("builtins", "__main__", "") else module + "." + kind.__qualname__


def _message(error):
    try:
        return str(error)[:TEXT]
    except Exception:  # noqa: BLE001 - the __str__ of foreign code may do anything
        return "<unprintable>"


def _chain(error):
    """The exception, then what it came from, each once."""
    waiting, seen, chain = [error], set(), []
    while waiting and len(chain) < CHAIN:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        chain.append({"type": _type(current), "message": _message(current), "frames": _frames(current.__traceback__)})
        if current.__cause__ is not None:
            waiting.append(current.__cause__)
        elif not current.__suppress_context__:
            waiting.append(current.__context__)
        members = getattr(current, "exceptions", ())
        if isinstance(members, (list, tuple)):
            waiting.extend(member for member in members if isinstance(member, BaseException))
    return chain


def _repr(value):
    try:
        return re.sub(r"0x[0-9a-f]+", "0x", repr(value))[:TEXT]
    except Exception:  # noqa: BLE001 - so may its __repr__
        return "<unprintable>"


class Reporter:
    def __init__(self):
        self.tests = {}
        self.collection = []
        self.answers = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        if os.environ.get("RECEIPTS_ANSWERS") != "1":
            yield
            return
        code = getattr(getattr(pyfuncitem, "obj", None), "__code__", None)
        answers = self.answers.setdefault(pyfuncitem.nodeid, [])

        def profile(frame, event, value):
            if event == "return" and frame.f_back is not None and frame.f_back.f_code is code:
                sys.setprofile(None)
                answers.append([frame.f_code.co_name, _repr(value)])
                sys.setprofile(profile)

        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(None)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        known = self.tests.get(item.nodeid, {"id": item.nodeid, "outcome": "passed", "exceptions": []})
        if report.failed:
            known["outcome"] = "failed" if call.when == "call" else "error"
            if call.excinfo is not None:
                known["exceptions"] = known["exceptions"] or _chain(call.excinfo.value)
        elif report.skipped and known["outcome"] == "passed":
            known["outcome"] = "skipped"
        self.tests[item.nodeid] = known

    def pytest_collectreport(self, report):
        if report.failed:
            self.collection.append({"id": report.nodeid, "message": str(report.longrepr)[-TEXT:]})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        name = "report-" + worker if worker else "report"
        with open(os.path.join("/report", name + ".json"), "w", encoding="utf-8", errors="surrogateescape") as file:
            tests = [dict(test, answers=self.answers.get(test["id"], [])[-ANSWERS:]) for test in self.tests.values()]
            json.dump({"tests": tests, "collection": self.collection}, file)


def pytest_configure(config):
    config.pluginmanager.register(Reporter(), "receipts-reporter")
