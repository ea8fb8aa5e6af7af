"""The vocabulary: frozen records without I/O that every room speaks.

Times are UTC nanoseconds since the epoch in fields named `*_ns`. Paths are POSIX, relative to a repository's root.
Every record that was read from a file carries a `SourceRef`.
"""

from retrieval.model.alert import Alert, AlertBatch
from retrieval.model.asked import ModelOutcome, ModelUse, Question, Reply
from retrieval.model.case import (
    Case,
    CaseSources,
    CrashGroup,
    MissingData,
    Onset,
    RankedItem,
    Rankings,
    Rollout,
    ServiceInfo,
    Suspect,
    Topology,
    Window,
)
from retrieval.model.change import Commit, ConfigChange, Deploy, FileChange, FlagChange, Hunk
from retrieval.model.code import Frame, StackTrace, Symbol
from retrieval.model.contract import Contract, ContractChange, ContractElement
from retrieval.model.document import LIVE, Document, Hit, Query
from retrieval.model.environment import EnvironmentDelta, EnvironmentFingerprint, environment_delta, value_shape
from retrieval.model.evidence import Claim, Evidence, Hypothesis
from retrieval.model.proof import Attempt, Bisect, ErrorSignature, Patch, Proof, RecoveredInput
from retrieval.model.runtime import DumpedThread, FileCoverage, Profile, ProfileRow, ThreadDump
from retrieval.model.telemetry import (
    ExceptionInfo,
    LogRecord,
    Postmortem,
    Problem,
    Section,
    Series,
    SourceRef,
    Span,
    SpanEvent,
    TestResult,
)
from retrieval.model.ticket import Ticket
from retrieval.model.verdict import RUNGS, Verdict

__all__ = [
    "LIVE",
    "RUNGS",
    "Alert",
    "AlertBatch",
    "Attempt",
    "Bisect",
    "Case",
    "CaseSources",
    "Claim",
    "Commit",
    "ConfigChange",
    "Contract",
    "ContractChange",
    "ContractElement",
    "CrashGroup",
    "Deploy",
    "Document",
    "DumpedThread",
    "EnvironmentDelta",
    "EnvironmentFingerprint",
    "ErrorSignature",
    "Evidence",
    "ExceptionInfo",
    "FileChange",
    "FileCoverage",
    "FlagChange",
    "Frame",
    "Hit",
    "Hunk",
    "Hypothesis",
    "LogRecord",
    "MissingData",
    "ModelOutcome",
    "ModelUse",
    "Onset",
    "Patch",
    "Postmortem",
    "Problem",
    "Profile",
    "ProfileRow",
    "Proof",
    "Query",
    "Question",
    "RankedItem",
    "Rankings",
    "RecoveredInput",
    "Reply",
    "Rollout",
    "Section",
    "Series",
    "ServiceInfo",
    "SourceRef",
    "Span",
    "SpanEvent",
    "StackTrace",
    "Suspect",
    "Symbol",
    "TestResult",
    "ThreadDump",
    "Ticket",
    "Topology",
    "Verdict",
    "Window",
    "environment_delta",
    "value_shape",
]
