"""A node that leads and is led away, as a process: ``python -m tests.server.state.sql_writer ORDER``.

It claims, and then counts: each change adds one to what it found. Each change that is acknowledged is a line: term and
number. When it is deposed, or the database fails, it claims again after a moment.
"""

import contextlib
import json
import random
import sys
import time

from seatunnel_storage_jdbc.factory import open_database

from seatunnel_core.server.errors import DeposedError, StateUnavailableError
from seatunnel_core.server.state.sql_store import SqlStore
from seatunnel_storage_api.errors import CheckpointStorageError

KEYS = 20


def main(order: str) -> None:
    wanted = json.loads(order)
    while True:
        with contextlib.suppress(DeposedError, StateUnavailableError, CheckpointStorageError):
            store = SqlStore(open_database(wanted["configuration"]), wanted["prefix"], wanted["name"])
            while True:
                lead(store, random.uniform(0, wanted["longest_s"]))
        time.sleep(random.uniform(0, 0.05))


def lead(store: SqlStore, for_s: float) -> None:
    """Count for a while."""
    lease = store.claim()
    number = int(lease.entries.get("number", b"0"))
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        number += 1
        written = b"%d" % number
        lease.commit({"number": written, f"key/{number % KEYS}": written * 300, f"key/{(number + 7) % KEYS}": None})
        sys.stdout.write(f"{lease.term} {number}\n")  # whole or not at all, if this process is killed
        sys.stdout.flush()
        if number % 5 == 0:
            lease.renew(number, written)
    lease.release()


if __name__ == "__main__":
    main(sys.argv[1])
