"""Programs that try to get out. Each attempt is made inside by its own small program and has to be refused."""

import asyncio
from pathlib import Path

import pytest

from bundles.sandbox import Limits, Sandbox
from bundles.sandbox.limits import MIB

pytestmark = pytest.mark.sandbox

REFUSED = {
    "write to the root": "open('/x', 'w')",
    "write to /usr": "open('/usr/x', 'w')",
    "write to /etc": "open('/etc/x', 'w')",
    "change the hosts file": "open('/etc/hosts', 'a')",
    "write to /dev": "open('/dev/x', 'w')",
    "write to the interpreter": "open(os.__file__, 'a')",
    "name a core handler": "open('/proc/sys/kernel/core_pattern', 'w')",
    "overcommit memory": "open('/proc/sys/vm/overcommit_memory', 'w')",
    "rename the host": "open('/proc/sys/kernel/hostname', 'w')",
    "trigger a system request": "open('/proc/sysrq-trigger', 'w')",
    "read root's home": "os.listdir('/root')",
    "read people's homes": "os.listdir('/home')",
    "read the shadow file": "open('/etc/shadow')",
    "become root": "os.setuid(0)",
    "change the root": "os.chroot('/tmp')",
    "mount": "subprocess.run(['mount', '-t', 'tmpfs', 'x', '/tmp'], check=True, stderr=-3)",
    "remount the root": "subprocess.run(['mount', '-o', 'remount,rw', '/'], check=True, stderr=-3)",
    "make a user namespace": "subprocess.run(['unshare', '-Ur', 'true'], check=True, stderr=-3)",
    "make a device": "os.mknod('/tmp/disk', 0o600 | 0o060000, os.makedev(8, 0))",
    "connect to the internet": "socket.create_connection(('192.0.2.1', 80), 2)",
    "look up a name": "socket.getaddrinfo('example.com', 80)",
    "open a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "signal process 1 of the host": "os.kill(os.getppid() + 100000, 9)",
    "take too much memory": "bytearray(8 << 30)",
    "fill the scratch folder": "open('/tmp/f', 'wb').write(b'0' * (80 << 20))",
    "fill the tree": "[open(f'/repo/{n}', 'wb').write(b'0' * (8 << 20)) for n in range(40)]",
    "fill the shared memory": "open('/dev/shm/f', 'wb').write(b'0' * (40 << 20))",
    "fill the report": "open('/report/f', 'wb').write(b'0' * (8 << 20))",
    "open too many files": "[open('/dev/null') for _ in range(2000)]",
}

PROGRAM = """
import os, socket, subprocess, sys, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    {attempt}
except (OSError, MemoryError, subprocess.CalledProcessError):
    sys.exit(0)
sys.exit(1)
"""


async def test_every_attempt_is_refused(sandbox: Sandbox, tree: Path) -> None:
    async def tried(name: str) -> tuple[str, int, str]:
        program = PROGRAM.format(attempt=REFUSED[name])
        result = await sandbox.run(["python", "-c", program], tree=tree, limits=Limits(memory=2048 * MIB))
        return name, result.exit_code, result.output

    slots = asyncio.Semaphore(2)

    async def in_turn(name: str) -> tuple[str, int, str]:
        async with slots:
            return await tried(name)

    results = await asyncio.gather(*(in_turn(name) for name in REFUSED))
    assert [row for row in results if row[1] != 0] == []


async def test_a_server_on_the_hosts_loopback_is_not_reached(sandbox: Sandbox, tree: Path) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        code = (
            f"import socket\ntry: socket.create_connection(('127.0.0.1', {port}), 2)\n"
            "except OSError as error: print(error.errno)"
        )
        result = await sandbox.run(["python", "-c", code], tree=tree)
    assert result.output == "111\n"


async def test_its_own_loopback_works(sandbox: Sandbox, tree: Path) -> None:
    code = (
        "import socket\nserver = socket.create_server(('localhost', 0))\n"
        "client = socket.create_connection(server.getsockname()[:2])\nserver.accept()[0].send(b'hello')\n"
        "print(client.recv(5))"
    )
    assert (await sandbox.run(["python", "-c", code], tree=tree)).output == "b'hello'\n"


async def test_a_fork_bomb_is_bounded(sandbox: Sandbox, tree: Path) -> None:
    code = (
        "import os, signal\nstarted = 0\ntry:\n    while True:\n        if os.fork() == 0: signal.pause()\n"
        "        started += 1\nexcept OSError: print(started < 40)"
    )
    result = await sandbox.run(["python", "-c", code], tree=tree, limits=Limits(processes=40))
    assert result.output == "True\n"


async def test_it_has_no_privileges_and_cannot_get_any(sandbox: Sandbox, tree: Path) -> None:
    code = (
        "rows = dict(l.split(':\\t', 1) for l in open('/proc/self/status').read().splitlines() if ':\\t' in l)\n"
        "print(rows['NoNewPrivs'].strip(), {int(rows[k], 16) for k in rows if k.startswith('Cap')}, rows['Groups'])"
    )
    result = await sandbox.run(["python", "-c", code], tree=tree)
    assert result.output.startswith("1 {0}")
