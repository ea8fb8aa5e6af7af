"""From what production recorded to a test that fails for the same reason: a folder per language, one line each here."""

from bundles.harness.base import Candidate, Candidates, Harness, Missing
from bundles.harness.python.harness import PythonHarness

HARNESSES: dict[str, Harness] = {"python": PythonHarness()}
"""By language, as `ServiceInfo.language` and `StackTrace.language` name it."""

__all__ = ["HARNESSES", "Candidate", "Candidates", "Harness", "Missing"]
