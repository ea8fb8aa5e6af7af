"""The folder of a store: who holds it, and where it is when nobody named one."""

import fcntl
import os
import tempfile
from pathlib import Path

from retrieval.errors import Reason, StoreError, StoreLocked

DATABASE = "documents.sqlite"
_LOCK = "documents.lock"


class Folder:
    """An exclusively held folder; `None` is a temporary one that is removed at `release`.

    The lock is the operating system's (`flock`), so that it ends with the process, however that ends.

    Raises: StoreLocked, StoreError (not a folder, not writable).
    """

    def __init__(self, path: Path | None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="receipts-") if path is None else None
        self.path = Path(self._temporary.name) if self._temporary else Path(path or ".")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"The store's folder {self.path} cannot be used: {error.strerror}.",
                reason=Reason.UNAVAILABLE,
                subject=str(self.path),
                remedy="Name a folder that this user may write to.",
            ) from error
        self._acquire()

    @property
    def temporary(self) -> bool:
        return self._temporary is not None

    @property
    def database(self) -> Path:
        return self.path / DATABASE

    def _acquire(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._lock, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._lock)
            raise StoreLocked(
                f"The store in {self.path} is already open (process {holder}).",
                subject=str(self.path),
                remedy="Stop that process, or give this one another data folder.",
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._lock)
        if self._temporary:
            self._temporary.cleanup()
