"""When a task asks the driver and when it reports, without Spark."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pytest

from seatunnel_core.spark import reports as reports_module
from seatunnel_core.spark.report_channel import Exchange, Numbered, ReportChannel
from seatunnel_core.spark.reports import PAUSE_S, Reports
from seatunnel_core.spark.work import Address
from seatunnel_core.work.vertex_work import VertexWork
from tests.spark.report_channel.test_report_channel import DONE, FAILED, Heard


class Batches(Heard):
    """A driver that keeps the results as they come, and lets somebody wait for what it hears."""

    def __init__(self, *refused: int) -> None:
        super().__init__(*refused)
        self.batches: list[list[Numbered]] = []
        self._changed = threading.Condition()

    def begins(self, number: int) -> bool:
        with self._changed:
            self._changed.notify_all()
            return super().begins(number)

    def ended(self, results: Sequence[Numbered]) -> None:
        with self._changed:
            self.batches.append(list(results))
            self._changed.notify_all()

    def progress(self, number: int, work: Mapping[str, VertexWork]) -> None:
        with self._changed:
            super().progress(number, work)
            self._changed.notify_all()

    def wait_for(self, said: object) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: said in self.said or said in self.batches, 20)


def test_small_units_are_reported_together(exchange: Exchange) -> None:
    """One message for each of a thousand small tables kept the driver from its work."""
    heard = Batches()
    with exchange.listening(heard) as address:
        channel = ReportChannel(address)
        reports = Reports(channel, at_once=False)
        began = time.monotonic()
        with reports.periodic():
            for number in range(500):
                assert reports.may_begin(number)
                reports.ended(number, DONE)
        most = (time.monotonic() - began) / PAUSE_S + 1
        channel.close()
    assert [number for batch in heard.batches for number, _ in batch] == list(range(500))
    assert len(heard.batches) <= most
    assert heard.said == ["reached"], "a unit that has ended needs no word of its beginning"
    assert reports.unreceived() == []


@pytest.mark.parametrize("at_once", [False, True])
def test_a_long_unit_reports_how_far_it_is(exchange: Exchange, at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit may take minutes at a slow sink, and nothing was known of it until it ended."""
    monkeypatch.setattr(reports_module, "PROGRESS_S", 0.05)
    work = {"out": VertexWork(5, 0, 90.0, 0.0)}
    heard = Batches()
    with exchange.listening(heard) as address:
        channel = ReportChannel(address)
        reports = Reports(channel, at_once=at_once)
        with reports.periodic():
            assert reports.may_begin(2)
            reports.runs(2, lambda: work)
            heard.wait_for((2, work))
            reports.ended(2, DONE)
        heard.said.clear()
        channel.close()


def test_what_ended_is_reported_while_a_slow_unit_goes_on(exchange: Exchange) -> None:
    heard = Batches()
    with exchange.listening(heard) as address:
        channel = ReportChannel(address)
        reports = Reports(channel, at_once=False)
        with reports.periodic():
            assert reports.may_begin(0)
            reports.ended(0, FAILED)
            assert reports.may_begin(1)
            heard.wait_for([(0, FAILED)])
            heard.wait_for(1)
            reports.ended(1, DONE)
        channel.close()
    assert heard.batches == [[(0, FAILED)], [(1, DONE)]]


def test_behind_a_refusal_each_unit_asks(exchange: Exchange) -> None:
    """It was given away: so are those behind it, most likely."""
    heard = Batches(0, 1, 3)
    with exchange.listening(heard) as address:
        channel = ReportChannel(address)
        reports = Reports(channel, at_once=False)
        with reports.periodic():
            assert reports.may_begin(0), "in vain, and nobody knows yet"
            heard.wait_for(0)
            while reports.may_begin(1):
                time.sleep(0.001)
            assert [reports.may_begin(number) for number in (2, 3, 4)] == [True, False, True]
        channel.close()


def test_another_attempt_of_a_task_asks(exchange: Exchange) -> None:
    """What the first one reported is over."""
    with exchange.listening(Batches(0)) as address:
        channel = ReportChannel(address)
        reports = Reports(channel, at_once=False, again=True)
        assert [reports.may_begin(number) for number in (0, 1)] == [False, True]
        channel.close()


def test_a_busy_driver_holds_up_no_unit_that_may_begin_again(exchange: Exchange) -> None:
    free = threading.Event()

    class Busy(Batches):
        def begins(self, number: int) -> bool:
            return free.wait(60) and super().begins(number)

    with exchange.listening(Busy()) as address:
        channel = ReportChannel(address)
        reports = Reports(channel, at_once=False)
        with reports.periodic():
            for number in range(3):
                assert reports.may_begin(number)
                time.sleep(2 * PAUSE_S)
            free.set()
        channel.close()


def test_what_writes_at_once_asks_and_reports_without_delay(exchange: Exchange) -> None:
    heard = Batches(1)
    with exchange.listening(heard) as address:
        channel = ReportChannel(address, once=True)
        reports = Reports(channel, at_once=True)
        with reports.periodic():
            assert reports.may_begin(0)
            assert heard.said == ["reached", 0]
            reports.ended(0, DONE)
            assert heard.batches == [[(0, DONE)]]
            assert not reports.may_begin(1)
        channel.close()


@pytest.mark.parametrize("at_once", [False, True])
def test_spark_brings_what_the_driver_did_not_receive(exchange: Exchange, at_once: bool) -> None:
    reports = Reports(ReportChannel(None), at_once=at_once)
    with reports.periodic():
        assert reports.may_begin(0)
        reports.ended(0, DONE)
    assert reports.unreceived() == [(0, DONE)]


def test_a_task_that_the_driver_has_forgotten_begins_nothing(exchange: Exchange) -> None:
    with exchange.listening(Heard()) as address:
        pass
    assert not Reports(ReportChannel(address), at_once=False).may_begin(0)
    assert not Reports(ReportChannel(Address(address.host, address.port, "another")), at_once=False).may_begin(0)


def test_a_body_that_fails_leaves_nothing_unreported(exchange: Exchange) -> None:
    heard = Batches()
    with exchange.listening(heard) as address:
        channel = ReportChannel(address)
        reports = Reports(channel, at_once=False)
        with suppress(ZeroDivisionError), reports.periodic():
            reports.ended(0, DONE)
            raise ZeroDivisionError
        channel.close()
    assert heard.batches == [[(0, DONE)]]
