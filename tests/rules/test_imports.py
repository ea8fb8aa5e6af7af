"""Importing a module does nothing: no connection, no process, no file written, no environment read by our code."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBE = r"""
import importlib, os, pkgutil, sys
ROOT = sys.argv[1]
sys.path.insert(0, ROOT)
OURS = tuple(os.path.join(ROOT, p) + os.sep for p in ("bot", "bundles", "retrieval"))
FORBIDDEN = (
    "socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.mkdir",
    "sqlite3.connect",
)
LIBRARY = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")
# urllib3, which Elasticsearch's client brings, binds a socket to ::1 to see whether this machine speaks IPv6.
PROBING = os.path.join("urllib3", "util", "connection.py")
bad = []

def importer():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith(PROBING):
            return None
        if frame.f_code.co_filename.startswith(OURS):
            return f"{frame.f_code.co_filename[len(ROOT) + 1:]}:{frame.f_lineno}"
        frame = frame.f_back
    return ""

def watch(event, args):
    if event in FORBIDDEN and (line := importer()) is not None:
        bad.append(f"{event} {line}")
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        bad.append(f"open for writing {args[0]} {importer()}")

sys.addaudithook(watch)

class Watched(type(os.environ)):
    def __getitem__(self, key):
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.endswith(LIBRARY):
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(OURS):
            bad.append(f"environment {key} {frame.f_code.co_filename[len(ROOT) + 1:]}:{frame.f_lineno}")
        return super().__getitem__(key)

os.environ.__class__ = Watched
names = []
for package in ("retrieval", "bundles", "bot"):
    root = importlib.import_module(package)
    for found in pkgutil.walk_packages(root.__path__, package + "."):
        if not found.name.endswith("__main__"):
            names.append(found.name)
for name in names:
    importlib.import_module(name)
print(len(names))
print("\n".join(bad))
"""


def test_nothing_happens_at_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(ROOT)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    count, *bad = done.stdout.strip().splitlines()
    assert int(count) > 50
    assert not [b for b in bad if b], bad


def test_the_layers_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [str(linter), "--config", "pyproject.toml", "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
