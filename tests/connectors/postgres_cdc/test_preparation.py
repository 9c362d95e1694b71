"""The creation of the slot that is given up, without a server."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_core.connectors.postgres_cdc import preparation
from seatunnel_core.connectors.postgres_cdc.preparation import Preparation
from seatunnel_core.connectors.postgres_log.errors import SlotInUseError
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.slot_creation import SlotCreation
from seatunnel_core.connectors.postgres_log.slot_lock import SlotLock

SETTINGS: Any = SimpleNamespace(
    slot="slot",
    publication="slot",
    startup="earliest",
    starts_now=False,
    reads_tables=False,
    log=lambda version, job_id: {},
    lock=lambda job_id: {"application_name": f"seatunnel {job_id}"},
)
CONNECTION: Any = SimpleNamespace(info=SimpleNamespace(server_version=15_00_00))


def creation(*results: Any) -> Any:
    found = iter(results)
    return SimpleNamespace(result=lambda wait_s: next(found), close=lambda: None)


def test_a_creation_that_was_given_up_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    created = SimpleNamespace(consistent_point=Lsn(7))
    begun = [creation(None), creation(created)]
    monkeypatch.setattr(preparation, "slot_state", lambda *_: None)
    monkeypatch.setattr(preparation, "require_publication", lambda *_, **__: False)
    monkeypatch.setattr(preparation, "record_slot", lambda *_, **__: None)
    monkeypatch.setattr(preparation, "recording", lambda *_: nullcontext())
    monkeypatch.setattr(SlotCreation, "begin", lambda *_: begun.pop(0))
    made = Preparation(SETTINGS)
    assert made.next(CONNECTION, "a", []) is None
    made.close()
    start = made.next(CONNECTION, "a", [])
    assert start is not None
    assert start.position == Lsn(7)


def test_the_slot_is_awaited_again_after_an_attempt_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is held since the first attempt."""
    taken, waits = iter([True, False, False]), []

    def await_free(connection: Any, user: Any, name: str) -> None:
        waits.append((user, name))
        if len(waits) == 1:
            raise SlotInUseError("in use")

    monkeypatch.setattr(SlotLock, "hold", lambda *_: next(taken))
    monkeypatch.setattr(preparation, "await_free", await_free)
    made = Preparation(SETTINGS)
    with pytest.raises(SlotInUseError):
        made.hold_slot(CONNECTION, "a", is_reading=False)
    for _ in range(2):
        made.hold_slot(CONNECTION, "a", is_reading=False)
    assert len(waits) == 2
    assert waits[0] == waits[1]
    assert waits[0][1] == "seatunnel a"
    assert waits[0][0] is waits[1][0], "the time is counted from the first attempt"


def test_a_task_of_the_job_may_be_reading_the_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotLock, "hold", lambda *_: True)
    Preparation(SETTINGS).hold_slot(CONNECTION, "a", is_reading=True)
