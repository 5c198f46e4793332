"""Claims of tasks, so that several runners can share one store.

A claim is a row in the store. It ends when the result is saved or when its runner ends. A killed
runner is detected on the same machine by its process id, and elsewhere by a lease that is not
renewed. A claim that is unchanged for the duration of a lease is void regardless of its expiry
date, because the clocks of machines differ.
"""

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from enum import Enum
from sqlite3 import Connection
from uuid import uuid4

from ambilearn._utils.text import pluralize
from ambilearn.experiments.store import Store
from ambilearn.experiments.store_file import StoreError

LEASE = 60.0  # seconds for which a claim is valid; renewed four times as often
POLL = 1.0  # seconds between checks of the claims of other runners

_HERE: set[str] = set()  # runners of this process


class Claim(Enum):
    """Result of an attempt to claim a task."""

    OURS = "claimed by this runner"
    OTHERS = "claimed by another runner"
    SETTLED = "completed after this runner started"


class Claims:
    """The claims of one runner, which are renewed inside the ``with`` block."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen = store.versions()
        self._host = socket.gethostname()
        self._runner = f"{self._host} {os.getpid()} {uuid4().hex}"
        self._observed: dict[str, tuple[object, float]] = {}  # claims of others, and since when
        self._waited_for: Collection[str | None] = ()  # runners
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def take(self, key: str) -> Claim:
        """Claim a task, unless another runner has claimed or completed it."""
        with self._store.transaction() as connection:
            if self._store.versions(key).get(key) != self._seen.get(key):
                return Claim.SETTLED
            if self._owner(connection, key) is not None:
                return Claim.OTHERS
            row = (key, self._runner, time.time() + LEASE)
            connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", row)
        return Claim.OURS

    def is_taken(self, key: str) -> bool:
        """Whether another runner has claimed a task."""
        return self._find_owner(key) is not None

    def _find_owner(self, key: str) -> str | None:
        with self._store.transaction() as connection:
            return self._owner(connection, key)

    def _owner(self, connection: Connection, key: str) -> str | None:
        """The other runner that has claimed a task."""
        query = "SELECT runner, expires FROM claims WHERE key = ?"
        for runner, expires in connection.execute(query, [key]):
            with suppress(ValueError, TypeError, OverflowError):  # ignore damaged claims
                if runner == self._runner or expires <= time.time():
                    return None
                if self._has_ended(runner) or self._is_abandoned(key, (runner, expires)):
                    return None
                return str(runner)
        return None

    def _is_abandoned(self, key: str, claim: object) -> bool:
        """Whether a claim was not renewed for the duration of a lease on the local clock."""
        before, since = self._observed.get(key, (None, 0.0))
        if claim != before:
            since = time.monotonic()
            self._observed[key] = claim, since
        return time.monotonic() - since > LEASE

    def wait_for_others(
        self, keys: list[str], on_wait: Callable[[str], None] = lambda text: None
    ) -> None:
        """Wait until another runner has completed or abandoned one of the tasks.

        ``on_wait`` is called with a status message before waiting for a new set of runners.
        """
        owners = Counter(map(self._find_owner, keys))
        if keys and None not in owners and owners.keys() != self._waited_for:
            self._waited_for = owners.keys()
            on_wait(_describe(owners))
        while keys and all(map(self.is_taken, keys)):
            time.sleep(POLL)

    def _has_ended(self, runner: str) -> bool:
        """Whether a runner was a process on this machine that has ended."""
        host, pid, _ = runner.split(" ")
        if host != self._host or os.name == "nt":  # on Windows, os.kill would end the process
            return False
        if int(pid) == os.getpid():  # a runner of this process, or an earlier process with its id
            return runner not in _HERE
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except OSError:  # process of another user
            return False
        return False

    def _keep(self) -> None:
        while not self._stop.wait(LEASE / 4):
            with suppress(StoreError):  # retried at the next renewal
                self._renew()

    def _renew(self) -> None:
        with self._store.transaction() as connection:
            row = (time.time() + LEASE, self._runner)
            connection.execute("UPDATE claims SET expires = ? WHERE runner = ?", row)

    def __enter__(self) -> "Claims":
        _HERE.add(self._runner)
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._keeper.join()
        _HERE.discard(self._runner)
        with suppress(StoreError), self._store.transaction() as connection:
            connection.execute("DELETE FROM claims WHERE runner = ?", [self._runner])


def _describe(owners: Counter[str | None]) -> str:
    """Message about the runners that have claimed tasks."""
    (runner, _), *others = owners.most_common()
    host, process, _ = str(runner).split(" ")
    more = f" and {pluralize(len(others), 'other runner')}" if others else ""
    return (
        f"waiting for process {process} on {host}{more}, running "
        f"{pluralize(owners.total(), 'task')}"
    )
