"""The wait-for graph, against a slow and obvious oracle."""

from hypothesis import given
from hypothesis import strategies as st

from retrieval.context.locks import contended, cycles, deadlocks, place_of, wait_for_graph
from retrieval.model import DumpedThread, Frame, ThreadDump


def thread(name: str, holds: str = "", wants: str = "") -> DumpedThread:
    return DumpedThread(name=name, holds=tuple(holds), waits_for=wants)


def dump(*threads: DumpedThread, **fields: object) -> ThreadDump:
    return ThreadDump(language="java", threads=threads, **fields)  # type: ignore[arg-type]


def names(found: ThreadDump) -> list[list[str]]:
    return [[t.name for t in ring] for ring in deadlocks(found)]


def test_two_threads_with_each_other_s_locks_are_a_deadlock() -> None:
    assert names(dump(thread("a", "1", "2"), thread("b", "2", "1"), thread("c", "3", "1"))) == [["a", "b"]]


def test_a_queue_is_none_and_names_its_holder() -> None:
    queued = dump(thread("a", "1"), thread("b", "", "1"), thread("c", "", "1"), locks={"1": "Lock"})

    assert names(queued) == []
    assert [(c.holder, c.waiters, c.what) for c in contended(queued)] == [("a", ("b", "c"), "Lock")]


def test_what_the_runtime_found_is_told_once() -> None:
    known = dump(thread("b", "2", "1"), thread("a", "1", "2"), deadlocks=(("a", "b"),))
    assert names(known) == [["a", "b"]]


def test_threads_of_a_pool_that_has_no_work_queue_for_nothing() -> None:
    idle = dump(thread("w1", "", "1"), thread("w2", "", "1"), locks={"1": "java.util.concurrent.ForkJoinPool"})
    assert contended(idle) == ()


def test_a_thread_that_waits_for_its_own_lock_is_no_ring() -> None:
    assert wait_for_graph((thread("a", "1", "1"),)) == {}


@given(st.dictionaries(st.integers(0, 12), st.integers(0, 12), max_size=13))
def test_cycles_are_those_that_walking_finds(graph: dict[int, int]) -> None:
    def returns(start: int) -> bool:
        at = graph[start]
        for _ in range(20):
            if at == start:
                return True
            if at not in graph:
                return False
            at = graph[at]
        return False

    found = cycles(graph)
    assert {at for ring in found for at in ring} == {at for at in graph if returns(at)}
    assert all(graph[a] == b for ring in found for a, b in zip(ring, (*ring[1:], ring[0]), strict=True))
    assert len({at for ring in found for at in ring}) == sum(map(len, found))


def test_a_thread_stands_in_the_application_s_innermost_frame() -> None:
    own, library = Frame(file="a.py", function="f"), Frame(file="b.py", function="g", in_app=False)

    assert place_of(DumpedThread(name="a", frames=(own, library))) == own
    assert place_of(DumpedThread(name="a", frames=(library,))) is None
