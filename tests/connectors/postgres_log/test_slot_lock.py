"""The lock of a slot, and its creation in steps, on a server."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connectors.postgres_log.errors import SlotInUseError, SlotTakenError
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.server_sessions import Session, listed, sessions_with_transactions
from seatunnel_core.connectors.postgres_log.session import (
    lock_parameters,
    log_parameters,
    session_name,
    sql_parameters,
)
from seatunnel_core.connectors.postgres_log.slot_creation import SlotCreation
from seatunnel_core.connectors.postgres_log.slot_lock import SlotLock, await_free
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader
from seatunnel_core.connectors.postgres_log.slot_user import SlotUser
from seatunnel_core.connectors.postgres_log.slots import drop_slot, slot_state
from seatunnel_core.connectors.postgres_log.sql_connection import connect
from tests.connectors.postgres_log.log_shop import LogShop

pytestmark = pytest.mark.servers


@pytest.fixture
def locks() -> Iterator[list[SlotLock]]:
    made = [SlotLock("locked") for _ in range(2)]
    yield made
    for each in made:
        each.close()


def parameters(shop: LogShop, job_id: str) -> Any:
    return lock_parameters(shop.address, session_name(job_id))


def test_the_slot_of_another_job_is_refused_by_name(shop: LogShop, locks: list[SlotLock]) -> None:
    first, second = locks
    assert first.hold(parameters(shop, "a"))
    with pytest.raises(SlotInUseError, match="the machine of this session has failed") as early:
        second.hold(parameters(shop, "b"), wait_s=0)
    assert early.value.retryable
    assert not first.hold(parameters(shop, "a")), "it is held already"
    with pytest.raises(
        SlotTakenError, match=r"slot locked is used by process \d+ .*application_name 'seatunnel a'"
    ) as e:
        second.hold(parameters(shop, "b"), wait_s=0)
    assert not e.value.retryable
    assert not first.hold(parameters(shop, "a")), "the first one is untouched"
    first.close()
    assert second.hold(parameters(shop, "b"), wait_s=10)


def test_a_later_process_of_the_same_job_fences_the_earlier_one(shop: LogShop, locks: list[SlotLock]) -> None:
    """A machine that is gone keeps its connection for a minute."""
    first, second = locks
    first.hold(parameters(shop, "a"))
    assert second.hold(parameters(shop, "a"))
    with pytest.raises(SlotTakenError, match="'seatunnel a'"):
        first.hold(parameters(shop, "a"), wait_s=10)
    assert not second.hold(parameters(shop, "a")), "the earlier one does not take it back"


def test_a_lock_is_taken_again_after_a_restart_of_the_server(shop: LogShop, locks: list[SlotLock]) -> None:
    first, _ = locks
    first.hold(parameters(shop, "a"))
    shop.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'seatunnel a'")
    assert first.hold(parameters(shop, "a"))


def test_a_session_of_another_role_is_waited_for(shop: LogShop, locks: list[SlotLock]) -> None:
    first, second = locks
    shop.run("DROP ROLE IF EXISTS later", "CREATE ROLE later LOGIN PASSWORD 'later'")
    later = lock_parameters(evolve(shop.address, user="later", password="later"), session_name("a"))
    first.hold(parameters(shop, "a"))
    with pytest.raises(SlotInUseError, match="'seatunnel a'") as caught:
        second.hold(later, wait_s=0)
    assert caught.value.retryable
    assert not first.hold(parameters(shop, "a")), "it may not be ended"
    first.close()
    assert second.hold(later)
    second.close()
    shop.run("DROP ROLE later")


def test_libpq_notices_a_server_that_is_lost(shop: LogShop) -> None:
    with closing(connect(parameters(shop, "a"))) as connection:
        assert connection.info.get_parameters()["tcp_user_timeout"] == "60000"


def reading(shop: LogShop, slot: str, start: Lsn, job_id: str, **options: Any) -> Any:
    log = log_parameters(shop.address, application=session_name(job_id))
    return SlotReader(log, shop.sql, slot, ["shop"], start, **options)


def test_a_reader_replaces_one_of_its_job_only(shop: LogShop) -> None:
    slot, start = shop.slot()
    with reading(shop, slot, start, "a"):
        with pytest.raises(SlotTakenError, match=r"used by process \d+ .*'seatunnel a'"):
            await_free(shop.sql, SlotUser(slot, gone_s=0), session_name("b"), wait_s=0)
        with pytest.raises(SlotInUseError, match="the machine of this session has failed"):
            await_free(shop.sql, SlotUser(slot), session_name("b"), wait_s=0)
        with pytest.raises(Exception, match=r"used by process \d+ .*'seatunnel a'"):
            reading(shop, slot, start, "b", takes_over=True, wait_for_slot_s=0)
        with reading(shop, slot, start, "a", takes_over=True) as later:
            assert next(later.batches(shop.end())).position >= start
    with reading(shop, slot, start, "a"):
        await_free(shop.sql, SlotUser(slot), session_name("a"))
        state = slot_state(shop.sql, slot)
        assert state is not None
        assert state.active_pid is None


def test_the_creation_of_a_slot_waits_without_blocking_and_can_be_given_up(shop: LogShop) -> None:
    with closing(connect(sql_parameters(shop.address))) as writer:
        writer.execute("BEGIN")
        writer.execute("SELECT txid_current()")
        made = SlotCreation.begin(log_parameters(shop.address), "waiting")
        begun = time.monotonic()
        assert made.result(0.3) is None
        assert time.monotonic() - begun < 5
        pid = writer.info.backend_pid
        assert f"process {pid} of the server (application_name 'seatunnel'" in listed(
            sessions_with_transactions(shop.sql)
        )
        made.close()
        until = time.monotonic() + 60
        while slot_state(shop.sql, "waiting") is not None:
            assert time.monotonic() < until, "the server does not end the creation"
            time.sleep(0.02)
        again = SlotCreation.begin(log_parameters(shop.address), "waiting")
        assert again.result(0.1) is None
        writer.execute("COMMIT")
    found = again.result(60)
    assert found is not None
    again.close()
    assert drop_slot(shop.sql, "waiting")
    assert found.consistent_point > Lsn(0)


def test_sessions_are_described() -> None:
    sessions = [Session(None, "", ""), Session(1, "", "10.0.0.1"), Session(2, "psql", ""), Session(3, "", "")]
    assert listed(sessions) == (
        "a prepared transaction, process 1 of the server (client 10.0.0.1), process 2 of the server (application_name "
        "'psql'), and 1 more"
    )


def test_names_of_sessions_differ_between_jobs() -> None:
    names = [session_name(job) for job in ("a", "b", "x" * 60, "x" * 61, "ä")]
    assert names[0] == "seatunnel a"
    assert len(set(names)) == 5
    assert all(len(name) <= 63 and name.isascii() for name in names)
