"""`python -m tests.benchmarks [NAME...]`: run the benchmarks, all of them without a name; exit 1 when a goal is missed.
`python -m tests.benchmarks traces FOLDER...`: the one that measures what lies elsewhere.

`BENCHMARKS` is the registry: a name, and the module whose `run()` prints figures and says whether the goal is met.
"""

import importlib
import sys

BENCHMARKS = {
    "store": "tests.benchmarks.store",
    "slice": "tests.benchmarks.slice",
    "query": "tests.benchmarks.query",
    "ingest": "tests.benchmarks.ingest",
    "redaction": "tests.benchmarks.redaction",
    "fuzz": "tests.benchmarks.fuzz",
    "traces": "tests.benchmarks.traces",
}


def main(names: list[str]) -> int:
    options: dict[str, int] = {}
    if "--bodies" in names:
        at = names.index("--bodies")
        options, names = {"bodies": int(names[at + 1])}, names[:at] + names[at + 2 :]
    if names[:1] == ["traces"]:  # the one that measures what lies elsewhere: all that follows are folders
        return 0 if importlib.import_module(BENCHMARKS["traces"]).run(names[1:]) else 1
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    met = True
    for name in names or [n for n in BENCHMARKS if n != "traces"]:
        print(f"== {name}")
        met = bool(importlib.import_module(BENCHMARKS[name]).run(**(options if name == "fuzz" else {}))) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
