"""Thread dumps: one document a dump, with its lock graph, and the places where its threads stand (row A13)."""

from collections.abc import Iterator, Sequence

from retrieval.context.locks import contended, deadlocks
from retrieval.kinds.base import Kind, Material, kept, restoring
from retrieval.model import Document, DumpedThread, ThreadDump
from retrieval.model.signatures import frame_path, frame_qualname, stable_path

_STACK = 8  # frames of a thread in the text
_THREADS = 60  # threads in the text
_PLACES = 40


def documents(material: Material) -> Iterator[Document]:
    for number, dump in enumerate(material.sources.dumps):
        places = _places(dump, material.files_of(dump.service))
        yield material.document(
            "dump",
            (dump,),
            title=f"{dump.language} thread dump, {sum(t.count for t in dump.threads)} threads",
            text=_text(dump),
            time_ns=dump.time_ns,
            service=dump.service,
            language=dump.language,
            severity=17 if deadlocks(dump) else 9,
            paths=tuple(dict.fromkeys(path for path, _ in places)),
            symbols=tuple(f"{path}::{name}" for path, name in places),
            source=str(dump.source),
            attributes=kept([(number, dump)]),
        )


def _text(dump: ThreadDump) -> str:
    lines = [dump.headline] if dump.headline else []
    for ring in deadlocks(dump):
        lines.append("deadlock: " + " -> ".join(thread.name for thread in ring))
    for lock in contended(dump):
        held = f"held by {lock.holder}" if lock.holder else "holder unknown"
        lines.append(f"lock {lock.lock} {lock.what} {held}, awaited by {len(lock.waiters)} threads")
    for thread in _ordered(dump)[:_THREADS]:
        count = f" x{thread.count}" if thread.count > 1 else ""
        lines.append(f'"{thread.name}"{count} {thread.state}')
        frames = thread.frames[: -_STACK - 1 : -1]
        lines += [f"  {frame_qualname(frame)} ({frame.file}:{frame.line or '?'})" for frame in frames]
    return "\n".join(lines)


def _ordered(dump: ThreadDump) -> list[DumpedThread]:
    """Threads of deadlocks first, then those that wait or hold, then those in the application's own code."""
    dead = {id(thread) for ring in deadlocks(dump) for thread in ring}

    def key(thread: DumpedThread) -> tuple[bool, bool, bool, int]:
        own = any(frame.in_app for frame in thread.frames)
        return (id(thread) not in dead, not (thread.waits_for or thread.holds), not own, thread.line)

    return sorted(dump.threads, key=key)


def _places(dump: ThreadDump, files: Sequence[str]) -> list[tuple[str, str]]:
    found = [
        (frame_path(frame, files) or stable_path(frame.file), frame_qualname(frame))
        for thread in _ordered(dump)
        for frame in reversed(thread.frames)
        if frame.in_app and frame.file
    ]
    return list(dict.fromkeys(found))[:_PLACES]


KIND = Kind("dump", documents, restoring("dumps", ThreadDump), timeless=True)
