"""Which states of a slot allow a range to be read."""

from typing import Any

import pytest

from seatunnel_core.connectors.postgres_log.errors import (
    SlotAdvancedError,
    SlotChangedError,
    SlotInUseError,
    SlotLostError,
    SlotMissingError,
)
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.slots import SlotState
from seatunnel_core.errors import SourceChangedError

FREE: dict[str, Any] = {
    "name": "orders",
    "plugin": "pgoutput",
    "kind": "logical",
    "database": "shop",
    "temporary": False,
    "active_pid": None,
    "restart": Lsn(90),
    "confirmed": Lsn(100),
    "retained_bytes": 10,
    "wal_status": "reserved",
    "safe_bytes": None,
    "invalidation": None,
}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"kind": "physical", "plugin": None}, SlotMissingError),
        ({"plugin": "wal2json"}, SlotMissingError),
        ({"wal_status": "lost"}, SlotLostError),
        ({"invalidation": "wal_removed"}, SlotLostError),
        ({"restart": None}, SlotLostError),
        ({"confirmed": None}, SlotLostError),
        ({"confirmed": Lsn(101)}, SlotAdvancedError),
        ({"active_pid": 7}, SlotInUseError),
        ({"active_pid": 7, "confirmed": None}, SlotInUseError),
        ({"active_pid": 7, "confirmed": None, "wal_status": "lost"}, SlotLostError),
    ],
)
def test_states_that_do_not_return_the_range(change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="the replication slot orders"):
        SlotState(**{**FREE, **change}).require_range(Lsn(100))
    assert issubclass(error, SourceChangedError if issubclass(error, SlotChangedError) else SlotInUseError)


@pytest.mark.parametrize("change", [{}, {"confirmed": Lsn(99)}, {"wal_status": "unreserved"}, {"wal_status": None}])
def test_states_that_return_the_range(change: dict[str, Any]) -> None:
    SlotState(**{**FREE, **change}).require_range(Lsn(100))
    SlotState(**{**FREE, **change, "active_pid": 7}).require_range(Lsn(100), reader_pid=7)
