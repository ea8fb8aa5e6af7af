"""A shop with a history: which commit broke it is known, and so is what mends it."""

from collections.abc import Sequence
from pathlib import Path

from bundles.harness.base import Candidate, Candidates
from retrieval.model import (
    Alert,
    Case,
    CaseSources,
    CrashGroup,
    Deploy,
    ErrorSignature,
    RecoveredInput,
    Rollout,
    ServiceInfo,
)
from tests.bundles.conftest import Work

PRICE = '''def rate(total, parts):
    """What one part costs."""
    return total / parts


def discount(coupon):
    return coupon["percent"]
'''
APP = """from shop.price import rate


def handle(request):
    return round(rate(request["total"], request.get("parts", 1)), 2)
"""
OWN_TEST = """from shop.app import handle


def test_a_total_is_shared():
    assert handle({"total": 10, "parts": 4}) == 2.5
"""
BROKEN = APP.replace('request.get("parts", 1)', 'request.get("parts", 0)')
ERROR = ErrorSignature("ZeroDivisionError", "division by zero")
FRAMES = ("shop/app.py::handle", "shop/price.py::rate")


class History:
    """Commit names by what they are. `unloadable` lies between the last that passes and the culprit when asked for."""

    def __init__(self, work: Work, *, unloadable: bool = False) -> None:
        self.good = work.commit("Start", {
            "shop/__init__.py": "", "shop/price.py": PRICE, "shop/app.py": APP, "tests/test_app.py": OWN_TEST,
        })  # fmt: skip
        self.before = work.commit("Say more in the README", {"README.md": "# Shop\n"})
        if unloadable:
            work.commit("Rename by half", {"shop/app.py": "from shop.prices import rate\n" + APP})
        self.culprit = work.commit("Count no part where none is given", {"shop/app.py": BROKEN})
        self.after = work.commit("Say what it is", {"shop/price.py": '"""Prices."""\n\n' + PRICE})
        self.deployed = work.commit("Say even more", {"README.md": "# Shop\n\nIt sells.\n"})


def case_of(history_good: str, history_deployed: str, service: ServiceInfo, **parts: object) -> Case:
    crash = CrashGroup(
        key="k", service="shop", signature=ERROR, count=9, in_app_frames=FRAMES, crash_path="shop/price.py",
        crash_function="rate",
    )  # fmt: skip
    deploy = Deploy(service="shop", git_sha=history_deployed, previous_sha=history_good, started_ns=1)
    alert = Alert(source="alertmanager", fingerprint="f", name="Errors", status="firing", starts_ns=2)
    fields = {
        "incident_id": "i-1",
        "alerts": (alert,),
        "sources": CaseSources(services={"shop": service}),
        "rollout": Rollout(current={"shop": deploy}),
        "crashes": (crash,),
        **parts,
    }
    return Case(**fields)  # type: ignore[arg-type]


def calling(call: str, name: str = "zero") -> Candidate:
    """A generated test that makes one call into the shop."""
    path = f"receipts_repro/test_{name}.py"
    text = f"from shop.app import handle\n\n\ndef test_{name}():\n    {call}\n"
    return Candidate(
        input=RecoveredInput(strategy="call", service="shop", language="python", summary=call, citations=("logs:1",)),
        files={path: text},
        test=path,
        command=("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", path),
    )


class Given:
    """A harness that gives what the test gives it."""

    language = "python"

    def __init__(self, items: Sequence[Candidate], missing: tuple[tuple[str, str, str], ...] = ()) -> None:
        self._found = Candidates(items=tuple(items), missing=missing)

    async def candidates(self, case: Case, crash: CrashGroup, tree: Path) -> Candidates:
        assert (tree / "shop").is_dir()
        return self._found
