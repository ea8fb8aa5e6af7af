"""Thread dumps under `dumps/`; which runtime wrote one is seen from its content (`DUMPS` is the registry)."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.readers.origin import service_of, taken_ns
from retrieval.languages.dumping import MAX_THREADS, ReadDumps
from retrieval.languages.go.dumps import read_dumps as go
from retrieval.languages.java.dumps import read_dumps as java
from retrieval.languages.python.dumps import read_dumps as python
from retrieval.model import SourceRef, ThreadDump

MAX_BYTES = 32 * 2**20

DUMPS: dict[str, ReadDumps] = {"java": java, "python": python, "go": go}
UNREADABLE = (
    "holds no thread dump that can be read; expected what jstack, kill -QUIT, jcmd Thread.dump_to_file, faulthandler, "
    "py-spy dump or Go's runtime print, or JSON with threads"
)


def read(file: SourceFile, intake: Intake) -> Iterator[ThreadDump]:
    text = head(file, intake)
    found = [dump for reads in DUMPS.values() for dump in reads(text)] or _given(text)
    if not found:
        intake.problem(file.name, 0, UNREADABLE)
    service, at = service_of(file.name), taken_ns(file.name, text)
    for dump in found:
        if dump.dropped:
            intake.problem(file.name, 0, f"{dump.dropped} threads beyond {MAX_THREADS} different ones were left out")
        line = next((thread.line for thread in dump.threads if thread.line), 0)
        yield replace(
            dump,
            service=dump.service or service,
            time_ns=dump.time_ns or at,
            source=SourceRef(file.name, line),
        )


def head(file: SourceFile, intake: Intake) -> str:
    """The beginning of a file that is read whole; what lies beyond `MAX_BYTES` is reported."""
    try:
        with file.path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        intake.problem(file.name, 0, f"cannot be read: {error.strerror}")
        return ""
    if len(data) > MAX_BYTES:
        intake.problem(file.name, 0, f"only the first {MAX_BYTES // 2**20} MiB were read")
    return data[:MAX_BYTES].decode("utf-8-sig", "replace")


def _given(text: str) -> list[ThreadDump]:
    """A lock graph that was made elsewhere: JSON with the fields of `ThreadDump`, of which only `threads` is needed."""
    if not text.lstrip().startswith("{"):
        return []
    try:
        told = msgspec.json.decode(text.encode("utf-8", "replace"))
        if not isinstance(told, dict) or not isinstance(told.get("threads"), list):
            return []
        threads = [{"thread": t.get("name", ""), **t} for t in told["threads"] if isinstance(t, dict)]
        dump = msgspec.convert(
            {"language": "", **told, "threads": threads, "source": {"file": ""}}, ThreadDump, strict=False
        )
    except (msgspec.MsgspecError, RecursionError):
        return []
    kept = dump.threads[:MAX_THREADS]
    return [replace(dump, threads=kept, dropped=len(dump.threads) - len(kept))] if kept else []


READER = Reader(
    kind="dumps",
    part="dumps",
    patterns=("dumps/**/*.txt", "dumps/**/*.json", "dumps/**/*.log", "dumps/**/*.dump", "dumps/**/*.out"),
    read=read,
)
