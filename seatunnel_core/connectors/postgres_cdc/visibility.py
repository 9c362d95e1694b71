"""Visibility of logged transactions: a transaction is logged before new snapshots contain it."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from seatunnel_core.connectors.postgres_cdc.tables import Captured
from seatunnel_core.connectors.postgres_log.snapshot_mark import current_mark
from seatunnel_core.connectors.postgres_log.sql_connection import run

PATIENCE_S = 1.0
"""Maximum time to wait for transactions to become visible, in seconds."""

_PAUSE_S = 0.01
_NEW_ID = "SELECT pg_catalog.txid_current()"


@frozen(kw_only=True)
class ServerVisibility:
    """Transactions that are visible to new snapshots on a server."""

    connection: Any = field(repr=False)
    """A psycopg connection in autocommit mode."""

    tables: Sequence[Captured] = field(repr=False)
    """The captured tables."""

    def new_id(self) -> int:
        """Return a new transaction ID, which is higher than the IDs of all open transactions."""
        return int(run(self.connection, _NEW_ID)[0][0])

    def ended(self) -> int:
        """Return the ID below which all transactions have ended."""
        return current_mark(self.connection).xmin

    def is_readable(self, table: str) -> bool:
        """Return True if a table can be read with its current columns."""
        return any(each.name == table and each.is_readable for each in self.tables)


def become_visible(
    connection: Any,
    ids: npt.NDArray[np.uint32],
    *,
    patience_s: float = PATIENCE_S,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Wait until committed transactions are visible to new snapshots; return False on a timeout.

    Args:
        connection: A psycopg connection in autocommit mode.
        ids: 32-bit IDs of the transactions.
        patience_s: Maximum time to wait, in seconds.
        clock: Function that returns the time in seconds.
    """
    until = clock() + patience_s
    while True:
        ids = ids[~current_mark(connection).contain(ids)]
        if not len(ids):
            return True
        if clock() >= until:
            return False
        time.sleep(_PAUSE_S)
