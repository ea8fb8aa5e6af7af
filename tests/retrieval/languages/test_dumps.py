"""Thread dumps that real runtimes printed, and what is left of them when they are damaged."""

import random
from pathlib import Path

import pytest

from retrieval.context.locks import contended, deadlocks
from retrieval.ingest.readers.dumps import DUMPS
from retrieval.languages.dumping import MAX_FRAMES, MAX_THREADS
from retrieval.model import DumpedThread, ThreadDump

CAPTURED = Path(__file__).resolve().parents[2] / "captured" / "dumps" / "threads"
RUNTIMES = {path.name: path.name.partition("-")[0] for path in sorted(CAPTURED.iterdir())}


def text_of(name: str) -> str:
    return (CAPTURED / name).read_text("utf-8")


def dump_of(name: str) -> ThreadDump:
    (found,) = DUMPS[RUNTIMES[name]](text_of(name))
    return found


def thread_of(dump: ThreadDump, name: str) -> DumpedThread:
    return next(thread for thread in dump.threads if thread.name == name)


def functions(thread: DumpedThread) -> list[str]:
    return [frame.function for frame in thread.frames if frame.in_app]


@pytest.mark.parametrize("name", sorted(RUNTIMES))
def test_a_dump_is_read_by_its_own_runtime_s_reader_and_by_no_other(name: str) -> None:
    found = {runtime: len(reads(text_of(name))) for runtime, reads in DUMPS.items()}
    assert found == {runtime: int(runtime == RUNTIMES[name]) for runtime in DUMPS}


def test_every_runtime_has_captured_dumps() -> None:
    assert set(RUNTIMES.values()) == set(DUMPS)


@pytest.mark.parametrize("name", ["java-jstack.txt", "java-sigquit.txt"])
def test_a_jvm_s_dump_tells_locks_states_and_its_deadlock(name: str) -> None:
    dump = dump_of(name)
    payer, other = thread_of(dump, "payer-1"), thread_of(dump, "payer-2")

    assert dump.deadlocks == (("payer-1", "payer-2"),)
    assert payer.state == "BLOCKED (on object monitor)"
    assert functions(payer) == ["charge", "refund"]
    assert payer.waits_for in other.holds and other.waits_for in payer.holds
    assert dump.locks[payer.waits_for] == "java.lang.Object"
    assert dump.headline.startswith("OpenJDK 64-Bit Server VM (17")
    assert text_of(name).split("\n")[payer.line - 1].startswith('"payer-1"')


def test_a_jvm_s_long_dump_tells_who_owns_what_is_parked_on() -> None:
    (queue,) = contended(dump_of("java-jstack.txt"))

    assert (queue.holder, queue.waiters) == ("holder", ("waiter-0", "waiter-1", "waiter-2"))
    assert queue.what.endswith("ReentrantLock$NonfairSync")


def test_a_thread_that_waits_to_be_notified_holds_nothing_and_awaits_nobody() -> None:
    finalizer = thread_of(dump_of("java-jstack.txt"), "Finalizer")
    assert (finalizer.holds, finalizer.waits_for) == ((), "")


@pytest.mark.parametrize("name", ["java-virtual.txt", "java-virtual.json"])
def test_virtual_threads_are_read_from_text_and_json_alike(name: str) -> None:
    dump = dump_of(name)
    payer, queuer, sitter = (thread_of(dump, n) for n in ("payer-1", "queuer", "sitter"))

    assert (payer.virtual, sitter.virtual) == (True, False)
    assert functions(payer) == ["charge"]
    assert queuer.waits_for == sitter.holds[0]
    assert payer.waits_for.startswith("java.util.concurrent.locks.ReentrantLock$NonfairSync@")


def test_goroutines_that_do_the_same_are_one_with_a_count() -> None:
    dump = dump_of("go-sigquit.txt")
    drain = next(t for t in dump.threads if "drain" in functions(t))

    assert (drain.count, drain.state) == (3, "chan receive")
    assert dump.headline == "SIGQUIT: quit"


def test_a_goroutine_that_waits_names_its_lock_by_address() -> None:
    dump = dump_of("go-sigquit.txt")
    charge = next(t for t in dump.threads if "charge" in functions(t))

    assert charge.state == "sync.Mutex.Lock"
    assert dump.locks[charge.waits_for] == "sync.Mutex"


def test_a_runtime_that_died_because_all_were_asleep_names_them_as_the_deadlock() -> None:
    (ring,) = deadlocks(dump_of("go-asleep.txt"))
    assert [functions(thread) for thread in ring] == [["main", "wait"]]


def test_how_long_a_goroutine_waits_is_read_with_its_state() -> None:
    text = text_of("go-sigquit.txt").replace("[chan receive]", "[chan receive, 12 minutes]")
    (dump,) = DUMPS["go"](text)
    assert max(t.waits_ns for t in dump.threads) == 12 * 60 * 10**9


def test_pprof_s_goroutine_profile_counts_goroutines_by_stack() -> None:
    text = (
        "goroutine profile: total 9\n7 @ 0x442d51 0x47d67d\n#\t0x4c8030\tmain.(*Pool).drain+0xb0\t/srv/pool.go:85\n"
        "#\t0x4c7e64\tmain.main+0x44\t\t/srv/app/main.go:7\n\n2 @ 0x442d51\n#\t0x4c8030\tmain.wait+0x1\t/srv/w.go:3\n"
    )
    (dump,) = DUMPS["go"](text)
    assert [(t.count, functions(t)[-1]) for t in dump.threads] == [(7, "Pool.drain"), (2, "wait")]


@pytest.mark.parametrize("name", ["python-faulthandler.txt", "python-pyspy.txt"])
def test_python_s_threads_come_outermost_first(name: str) -> None:
    dump = dump_of(name)
    inner = {thread.frames[-1].function for thread in dump.threads}

    assert inner == {"<module>", "charge", "checkout"}
    assert all(thread.frames[-1].line for thread in dump.threads)


def test_a_fatal_error_is_the_dump_s_headline() -> None:
    text = "Fatal Python error: Segmentation fault\n\n" + text_of("python-faulthandler.txt")
    (dump,) = DUMPS["python"](text)
    assert dump.headline == "Fatal Python error: Segmentation fault"


@pytest.mark.parametrize("name", sorted(RUNTIMES))
def test_damaged_dumps_neither_raise_nor_lose_the_bounds(name: str) -> None:
    rng, whole = random.Random(name), text_of(name)[:6_000]
    for _ in range(300):
        lines = [line for line in whole.split("\n") if rng.random() < 0.9]
        rng.shuffle(lines) if rng.random() < 0.3 else None
        text = "\n".join(lines)
        damaged = text[: rng.randrange(len(text) + 1)] + rng.choice(("", "\x00", '"', "[" * 50, '{"a":'))
        for reads in DUMPS.values():
            for dump in reads(damaged):
                assert dump.threads and len(dump.threads) <= MAX_THREADS
                assert all(len(thread.frames) <= MAX_FRAMES for thread in dump.threads)


def test_endless_dumps_stay_within_their_bounds() -> None:
    frame = "\tat a.B.c(B.java:1)\n"
    threads = "".join(
        f'"t{n}" #{n} prio=5 os_prio=0 tid=0x1\n\t- waiting to lock <0x{n:x}> (a X)\n' for n in range(9_000)
    )
    (dump,) = DUMPS["java"]("Full thread dump X:\n" + '"deep" #1 prio=5 tid=0x1\n' + frame * 5_000 + threads)
    assert (len(dump.threads), len(dump.threads[0].frames)) == (MAX_THREADS, MAX_FRAMES)
    assert dump.dropped == 9_001 - MAX_THREADS
