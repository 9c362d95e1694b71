"""The channel between a task and the driver, without Spark."""

import contextlib
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from attrs import evolve

from seatunnel_core.spark.report_channel import Exchange, Numbered, ReportChannel
from seatunnel_core.spark.work import Address, UnitResult
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import AttemptId
from seatunnel_core.work.vertex_work import VertexWork

COMMITTABLE = Committable(
    id="0-100000-7", epoch=100_000, unit=7, source="in", rows=3, bytes=9, body={"files": ["a"]}, table_rows={"t": 3}
)
DONE = UnitResult(
    job_id="job",
    pipeline_id=1,
    source="in",
    attempt=AttemptId(unit=7, epoch=100_000, number=1),
    failure=None,
    rows_read=3,
    wall_ms=1.5,
    committables={"out": COMMITTABLE},
    facts=({"chunk": 1, "position": "0/16B3748"}, {"chunk": 2, "position": None}),
    vertices={"in": VertexWork(0, 3, 1.0, 0.5), "out": VertexWork(3, 0, 0.5, 0)},
)
FAILED = evolve(
    DONE,
    failure=Failure(kind=FailureKind.DATA, message="file \udcff.csv, line 3", code="ROW", detail="Traceback …"),
    committables={},
)


class Heard:
    def __init__(self, *refused: int) -> None:
        self.said: list[object] = []
        self._refused = refused

    def reached(self) -> None:
        self.said.append("reached")

    def begins(self, number: int) -> bool:
        self.said.append(number)
        return number not in self._refused

    def ended(self, results: Sequence[Numbered]) -> None:
        self.said.extend(results)

    def progress(self, number: int, work: Mapping[str, VertexWork]) -> None:
        self.said.append((number, work))


def test_a_task_reports_how_far_its_works_are(exchange: Exchange) -> None:
    heard = Heard()
    work = {"in": VertexWork(0, 7, 1.5, 20.25)}
    with exchange.listening(heard) as address:
        channel = ReportChannel(address)
        channel.progress({3: work})
        assert channel.may_begin(4), "the answers stay in order"
        channel.close()
    assert heard.said == ["reached", (3, work), 4]


def test_a_task_asks_before_it_begins_and_reports_what_became_of_it(exchange: Exchange) -> None:
    heard = Heard(1)
    with exchange.listening(heard) as address:
        channel = ReportChannel(address)
        assert [channel.may_begin(number) for number in (0, 1)] == [True, False]
        assert channel.report([(0, DONE)])
        assert channel.report([(2, FAILED), (3, DONE)])
        assert not exchange.is_silent(address)
        channel.close()
        while not exchange.is_silent(address):
            threading.Event().wait(0.01)
    assert heard.said == ["reached", 0, 1, (0, DONE), (2, FAILED), (3, DONE)]


def test_it_closes_at_once() -> None:
    """Each job waited up to half a second for it."""
    made = [Exchange("127.0.0.1", "127.0.0.1") for _ in range(40)]
    began = time.monotonic()
    for each in made:
        each.close()
    assert time.monotonic() - began < 10


def test_threads_that_ask_at_once_get_their_own_answers(exchange: Exchange) -> None:
    """They do not wait for each other's answers before they send."""
    with exchange.listening(Heard(*range(1, 2000, 2))) as address:
        channel = ReportChannel(address)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(channel.may_begin, range(2000)))
        channel.close()
    assert answers == [number % 2 == 0 for number in range(2000)]


@pytest.mark.parametrize("once", [True, False])
def test_a_task_that_the_driver_has_forgotten_begins_nothing(exchange: Exchange, once: bool) -> None:
    """It was cancelled, and its units may run elsewhere."""
    with exchange.listening(Heard()) as address:
        pass
    channel = ReportChannel(address, once=once)
    assert not channel.may_begin(0)
    assert not channel.is_wanted
    assert not channel.report([(0, DONE)])


def test_a_task_that_cannot_reach_the_driver_works_without_it() -> None:
    """A firewall, perhaps. But where each unit may begin only once, another attempt of the task begins none."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = Address("127.0.0.1", closed.getsockname()[1], "key")
    assert ReportChannel(address).may_begin(0)
    assert ReportChannel(address).is_wanted
    assert ReportChannel(address, again=True).may_begin(0)
    assert ReportChannel(address, once=True).may_begin(0)
    assert not ReportChannel(address, once=True, again=True).may_begin(0)
    assert not ReportChannel(address).report([(0, DONE)]), "so Spark brings the result"


@pytest.mark.parametrize("once", [True, False])
def test_behind_a_line_that_broke_nothing_begins_that_may_begin_only_once(once: bool) -> None:
    """The driver may have given it to another task."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"+")

        thread = threading.Thread(target=serve)
        thread.start()
        channel = ReportChannel(Address("127.0.0.1", server.getsockname()[1], "key"), once=once)
        thread.join()
        assert channel.may_begin(0) is not once


def test_who_does_not_know_the_key_is_not_listened_to(exchange: Exchange) -> None:
    heard = Heard()
    with exchange.listening(heard) as address:
        for key in ("another", "x" * 100_000, ""):
            assert not ReportChannel(evolve(address, key=key)).may_begin(0)
        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(b"\x00\xff\n")
            assert connection.recv(1) == b""
    assert heard.said == []


def test_idle_connections_are_closed_and_keep_no_task_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reaches the driver's port may connect, and only a task has a key."""
    monkeypatch.setattr("seatunnel_core.spark.report_channel.KEY_S", 0.3)
    exchange, heard = Exchange("127.0.0.1", "127.0.0.1"), Heard()
    with contextlib.closing(exchange), exchange.listening(heard) as address, contextlib.ExitStack() as clients:
        idle = [
            clients.enter_context(socket.create_connection((address.host, address.port), timeout=20)) for _ in range(50)
        ]
        task = clients.enter_context(contextlib.closing(ReportChannel(address)))
        assert task.may_begin(0)
        for each in idle:
            assert each.recv(1) == b"", "it sent no key in time"
        assert task.may_begin(1), "a task that is connected may be silent for long"
