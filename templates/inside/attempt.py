"""Tries to get out of the sandbox. Runs inside, with the standard library only; never imported.

Writes to /report/attempt.json what held: {"network": true, ...}. A check is true only if the attempt was refused.
"""

import json
import os
import socket
import subprocess
import sys


def refused(action, *arguments):
    try:
        action(*arguments)
    except (OSError, MemoryError):
        return True
    return False


def connect(host, port):
    socket.create_connection((host, port), timeout=2).close()


def write(path):
    with open(path, "ab") as file:
        file.write(b"x")


def network():
    port = int(sys.argv[1])
    interfaces = [name for _, name in socket.if_nameindex()]
    addresses = [("127.0.0.1", port), ("192.0.2.1", 80), ("example.com", 80)]
    return interfaces == ["lo"] and all(refused(connect, *address) for address in addresses)


def host_files():
    paths = [
        "/x",
        "/usr/x",
        "/etc/x",
        "/etc/passwd",
        "/dev/x",
        "/opt/attempt/x",
        "/opt/attempt/attempt.py",
        "/source/x",
    ]
    paths += ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/hostname"]
    return all(refused(write, path) for path in paths) and not os.path.exists("/home") and not os.path.exists("/root")


def user():
    """A file that only the user may read who started the program."""
    return refused(open, "/opt/attempt/mine")


def privileges():
    with open("/proc/self/status") as file:
        rows = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    empty = all(int(rows[name], 16) == 0 for name in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"))
    return empty and rows["NoNewPrivs"].strip() == "1"


def namespaces():
    tried = subprocess.run(["unshare", "--user", "true"], stderr=subprocess.DEVNULL)
    return tried.returncode != 0


def memory():
    return refused(bytearray, 2 * 1024**3)


def disk():
    def fill(folder):
        with open(folder + "/filler", "wb") as file:
            for _ in range(40):
                file.write(b"\0" * 1024 * 1024)

    try:
        return all(refused(fill, folder) for folder in ("/tmp", "/repo", "/dev/shm"))
    finally:
        for folder in ("/tmp", "/repo", "/dev/shm"):
            if os.path.exists(folder + "/filler"):
                os.unlink(folder + "/filler")


def processes():
    gate, opened = os.pipe()
    started = []
    try:
        for _ in range(64):
            pid = os.fork()
            if pid == 0:
                os.close(opened)
                os.read(gate, 1)
                os._exit(0)
            started.append(pid)
        return False
    except OSError:
        return True
    finally:
        os.close(opened)
        for pid in started:
            os.waitpid(pid, 0)


def change_tree():
    write("/repo/file")


change_tree()
checks = [network, host_files, user, privileges, namespaces, memory, disk, processes]
held = {check.__name__: check() for check in checks}
with open("/report/attempt.json", "w") as report:
    json.dump(held, report)
