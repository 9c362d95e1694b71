"""Waiting for the session that uses a slot, against a server that is played."""

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from attrs import define, evolve, field
from psycopg import pq

from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.postgres_log import slot_lock, slot_reader
from seatunnel_core.connectors.postgres_log.errors import (
    LogServerError,
    SlotInUseError,
    SlotMissingError,
    SlotTakenError,
)
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.replication import ReplicationConnection
from seatunnel_core.connectors.postgres_log.server_sessions import Session, terminate
from seatunnel_core.connectors.postgres_log.session import lock_parameters
from seatunnel_core.connectors.postgres_log.slot_lock import SlotLock
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader
from seatunnel_core.connectors.postgres_log.slot_user import SlotUser

JOB = {"application_name": "seatunnel a"}
OTHER = Session(5, "seatunnel b", "10.0.0.1", "12:00:00")


@define
class Server:
    """Plays the lock of a slot and the sessions of its connections, which end when a test lets them."""

    holder: int | None = None
    sessions: dict[int, Session] = field(factory=dict)
    ended: list[int] = field(factory=list)
    """Processes on the server whose end was requested."""

    on_end: Callable[["Server", int], None] = lambda server, pid: server.leave(pid)
    lost: set[int] = field(factory=set)

    def leave(self, pid: int) -> None:
        self.holder = None if self.holder == pid else self.holder
        self.sessions.pop(pid, None)

    def connect(self, parameters: Any) -> "Connection":
        pid = 100 + len(self.sessions)
        self.sessions[pid] = Session(pid, parameters["application_name"], "", "12:00:00")
        return Connection(self, pid)


@define
class Connection:
    server: Server
    pid: int
    closed: bool = False

    @property
    def info(self) -> Any:
        return SimpleNamespace(backend_pid=self.pid)

    def execute(self, statement: str, values: Any = ()) -> Any:
        rows = list(self._rows(statement, values))
        return SimpleNamespace(description=True, fetchall=lambda: rows)

    def close(self) -> None:
        """Leave the process on the server as it is."""
        self.closed = True

    def _rows(self, statement: str, values: Any) -> Iterator[tuple[Any, ...]]:
        server = self.server
        if self.pid in server.lost:
            raise psycopg.OperationalError("the server has closed the connection")
        if "pg_try_advisory_lock" in statement:
            server.holder = self.pid if server.holder is None else server.holder
            yield (server.holder == self.pid,)
        elif "pg_locks" in statement and server.holder is not None:
            yield (server.holder,)
        elif "pg_terminate_backend" in statement:
            server.ended.append(values[0])
            server.on_end(server, values[0])
        elif "pg_stat_activity" in statement and values[0] in server.sessions:
            found = server.sessions[values[0]]
            yield found.pid, found.application, found.client, found.activity


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(slot_lock, "connect", made.connect)
    monkeypatch.setattr(slot_lock, "_POLL_S", 0)
    return made


def denied(server: Server, pid: int) -> None:
    raise psycopg.errors.InsufficientPrivilege("must be a member of the role")


def held_by(server: Server, session: Session) -> None:
    assert session.pid is not None
    server.sessions[session.pid], server.holder = session, session.pid


def test_a_lost_session_of_the_job_itself_is_waited_for(server: Server) -> None:
    lock = SlotLock("slot")
    assert lock.hold(JOB)
    first = server.holder
    assert first is not None
    server.lost.add(first)
    assert lock.hold(JOB), "the server had not released the lock yet"
    assert server.ended == [first]
    assert server.holder != first


def test_a_lock_that_an_attempt_has_taken_without_an_answer_is_its_own(server: Server) -> None:
    lock = SlotLock("slot")
    lock.hold(JOB)
    assert server.holder is not None
    server.lost.add(server.holder)
    server.on_end = lambda server, pid: None
    with pytest.raises(SlotInUseError):
        lock.hold(JOB, wait_s=0)
    server.holder = 101
    server.on_end = lambda server, pid: server.leave(pid)
    assert lock.hold(JOB)
    assert server.ended == [100, 101]


def test_a_later_process_of_the_same_job_is_never_ended(server: Server) -> None:
    lock = SlotLock("slot")
    lock.hold(JOB)
    assert server.holder is not None
    server.lost.add(server.holder)
    held_by(server, Session(7, "seatunnel a", "", "12:00:00"))
    with pytest.raises(SlotTakenError, match="process 7 "):
        lock.hold(JOB)
    assert not server.ended


def test_a_session_of_another_role_that_may_not_be_ended_is_asked_once_and_has_a_limit(server: Server) -> None:
    server.on_end = denied
    held_by(server, Session(7, "seatunnel a", "", "12:00:00"))
    lock = SlotLock("slot")
    with pytest.raises(SlotInUseError, match="process 7 ") as caught:
        lock.hold(JOB, wait_s=0.05)
    assert caught.value.retryable
    assert server.ended == [7]
    server.sessions[7] = evolve(server.sessions[7], activity="12:00:01")
    with pytest.raises(SlotTakenError, match="which the user of this job has no permission to end"):
        lock.hold(JOB, wait_s=0)
    server.leave(7)
    assert lock.hold(JOB)


def test_a_session_that_does_not_end_has_a_limit(server: Server) -> None:
    server.on_end = lambda server, pid: None
    held_by(server, Session(7, "seatunnel a", "", "12:00:00"))
    with pytest.raises(SlotInUseError, match="process 7 "):
        SlotLock("slot").hold(JOB, wait_s=0.05)
    assert server.ended == [7]


def test_another_job_is_refused_for_good_only_when_its_session_is_active(server: Server) -> None:
    held_by(server, OTHER)
    lock = SlotLock("slot")
    with pytest.raises(SlotInUseError, match="the machine of this session has failed") as caught:
        lock.hold(JOB, wait_s=0)
    assert caught.value.retryable
    server.sessions[5] = evolve(OTHER, activity="12:00:01")
    with pytest.raises(SlotTakenError) as refused:
        lock.hold(JOB, wait_s=0)
    assert not refused.value.retryable
    assert not server.ended


def error_after(*seen: Session, gone_s: float = 75) -> SlotInUseError:
    user = SlotUser("slot", gone_s)
    for each in seen:
        user.see(each)
    return user.error(seen[-1])


def test_which_sessions_may_end_by_themselves() -> None:
    assert error_after(OTHER, OTHER).retryable
    assert error_after(evolve(OTHER, application="seatunnel")).retryable
    assert error_after(OTHER, Session(5, "", "")).retryable, "it has just ended"
    assert not error_after(OTHER, gone_s=0).retryable
    assert not error_after(evolve(OTHER, application="Debezium Streaming")).retryable
    assert not error_after(OTHER, evolve(OTHER, pid=6)).retryable, "a reader connects again for each range"


def test_the_time_counts_from_the_first_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    user = SlotUser("slot")
    user.see(OTHER)
    clock[0] += 74
    user.see(OTHER)
    assert user.error(OTHER).retryable
    clock[0] += 1
    assert not user.error(OTHER).retryable


@pytest.mark.parametrize("on_end", [denied, lambda server, pid: None])
def test_a_reader_of_its_job_that_does_not_end_has_a_limit(
    on_end: Callable[[Server, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_reader, "required_slot", lambda *_: SimpleNamespace(active_pid=7))
    server = Server(sessions={7: Session(7, "seatunnel a", "")}, on_end=on_end)
    reader = SlotReader.__new__(SlotReader)
    reader._slot, reader._sql, reader._replaced = "slot", Connection(server, 1), "seatunnel a"
    error = SlotInUseError("in use")
    reader._await_release(error, is_last=False)
    with pytest.raises(SlotInUseError, match=r"is used by process 7 .*: in use") as caught:
        reader._await_release(error, is_last=True)
    assert caught.value.retryable
    assert len(server.ended) == (1 if on_end is denied else 2), "it is not asked again in vain"


def test_other_errors_of_the_end_of_a_session_remain() -> None:
    def broken(server: Server, pid: int) -> None:
        raise psycopg.errors.UndefinedFunction("no such function")

    with pytest.raises(LogServerError, match="no such function"):
        terminate(Connection(Server(on_end=broken), 1), 5)


def test_a_lost_server_ends_the_session_of_the_lock_within_a_minute() -> None:
    address = Address(
        kind="postgresql", host="h", port=5432, database="d", user=None, password=None, properties=(), timeout_s=10
    )
    assert lock_parameters(address, "seatunnel a")["tcp_user_timeout"] == 60_000
    chosen = evolve(address, properties=(("socketTimeout", "5"),))
    assert lock_parameters(chosen, "seatunnel a")["tcp_user_timeout"] == 5_000


class Rejecting:
    """Plays a connection of libpq whose server has no such slot, and says so in German."""

    def __init__(self, sqlstate: str) -> None:
        self.results = [self, None]
        self.sqlstate = sqlstate
        self.status = pq.ExecStatus.FATAL_ERROR
        self.error_message = "FEHLER: Replikations-Slot »x« existiert nicht".encode()

    def parameter_status(self, name: bytes) -> bytes:
        return {b"DateStyle": b"ISO, MDY", b"client_encoding": b"UTF8", b"TimeZone": b"UTC"}[name]

    def send_query(self, statement: bytes) -> None:
        """Accept it."""

    def flush(self) -> None:
        """Have nothing to send."""

    def get_result(self) -> Any:
        return self.results.pop(0)

    def error_field(self, which: Any) -> bytes:
        return self.sqlstate.encode()


@pytest.mark.parametrize(("sqlstate", "error"), [("42704", SlotMissingError), ("42501", LogServerError)])
def test_a_missing_slot_is_recognized_in_any_language(sqlstate: str, error: type[Exception]) -> None:
    log = ReplicationConnection.__new__(ReplicationConnection)
    log._pg, log._safe = Rejecting(sqlstate), str  # type: ignore[assignment]
    with pytest.raises(error, match="existiert nicht"):
        log.start("x", Lsn(1), ["p"])
