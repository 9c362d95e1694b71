"""Warnings about transactions that delay a snapshot, without a server."""

from collections.abc import Iterator

import pytest

from seatunnel_core.connectors.postgres_cdc import snapshot_delay
from seatunnel_core.connectors.postgres_cdc.snapshot_delay import SnapshotDelay
from seatunnel_core.connectors.postgres_log.server_sessions import Session

FIRST, NEXT = (700, Session(1, "shop", "")), (701, Session(None, "", ""))


def warned(monkeypatch: pytest.MonkeyPatch, *polls: tuple[float, tuple[int, Session] | None]) -> list[int]:
    """Return the indexes of the polls that returned a warning."""
    times: Iterator[float] = iter([time for time, oldest in polls if oldest is not None])
    found = iter([oldest for _, oldest in polls])
    monkeypatch.setattr(snapshot_delay, "oldest_transaction", lambda _connection: next(found))
    delay = SnapshotDelay(patience_s=10, clock=lambda: next(times))
    return [number for number in range(len(polls)) if delay.warnings(None)]


def test_a_transaction_that_stays_open_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert warned(monkeypatch, (0, FIRST), (9, FIRST), (10, FIRST), (99, FIRST)) == [2]


def test_short_transactions_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert warned(monkeypatch, (0, FIRST), (9, NEXT), (18, NEXT), (18, None)) == []
    assert warned(monkeypatch, (0, FIRST), (9, NEXT), (19, NEXT)) == [2]


def test_each_transaction_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert warned(monkeypatch, (0, FIRST), (10, FIRST), (11, NEXT), (21, NEXT)) == [1, 3]
