"""Sources that are told how far the published rows came, to tell the place that they read from."""

import logging
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PollCursor
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.errors import SourceError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.acknowledging import Acknowledgements
from seatunnel_core.work.split import Split
from tests.runtime.ground import ALL, Ground, committed, run_through, until


def ids(splits: Sequence[Split]) -> set[int]:
    """Of the rows of some splits."""
    return {first + 1 for split in splits for first in range(split.body["start"], sum(split.body.values()))}


def test_it_hears_of_published_rows_only_and_in_the_end_of_all(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by the process that goes on with the job, which reads the splits from its storage."""
    said: list[set[int]] = []

    def acknowledge(_: FakeSource, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        assert (ids(planned), cursor) == (set(ALL), {})
        read = ids(planned) - ids(unread)
        assert read <= set(ground.rows("a")), "it is told before the rows are published"
        said.append(read)

    monkeypatch.setattr(FakeSource, "acknowledges", True)
    monkeypatch.setattr(FakeSource, "acknowledge", acknowledge)
    with ground.run(ground.tables("a", rows_per_second=100)) as first:
        first.start()
        until(lambda: committed(first) >= len(ALL) // 3, first)
        first.kill()
        first.wait(60)
    before = len(said)
    assert any(0 < len(read) < len(ALL) for read in said)
    report, _ = run_through(ground.run(ground.tables("a", rows_per_second=None), restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED
    assert said[before:], "the process that goes on tells, too"
    assert said[-1] == set(ALL)


def test_a_place_that_answers_late_hears_of_one_checkpoint_after_the_other(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer comes when all is published: told beside each other, the older would have had the last word, and
    the next job of a Kafka group read again what was published."""
    said: list[set[int]] = []
    began, all_published = threading.Event(), threading.Event()

    def acknowledge(_: FakeSource, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        if not began.is_set():
            began.set()
            assert all_published.wait(60)
        said.append(ids(planned) - ids(unread))

    newest = {"stored": 0, "published": 0}

    def noting(name: str) -> None:
        method = getattr(Acknowledgements, name)

        def noted(of: Acknowledgements, checkpoint_id: int, *more: Any) -> None:
            newest[name] = checkpoint_id
            method(of, checkpoint_id, *more)

        monkeypatch.setattr(Acknowledgements, name, noted)

    for name in newest:
        noting(name)
    monkeypatch.setattr(FakeSource, "acknowledges", True)
    monkeypatch.setattr(FakeSource, "acknowledge", acknowledge)
    with ground.run(ground.tables("a")) as run:
        run.start()
        until(began.is_set, run)
        while committed(run) < len(ALL) or newest["published"] < newest["stored"]:
            assert run.wait(0.005) is None or committed(run) == len(ALL)
        run.wait(1)
        all_published.set()
        report = run.wait(60)
    assert report is not None
    assert report.outcome is JobOutcome.FINISHED
    assert len(said) == 2, "what is published meanwhile is told at once, and only the newest"
    assert said[0] < said[1] == set(ALL)


def test_an_answer_that_fails_ends_nothing(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise SourceError("the group stays where it is")

    monkeypatch.setattr(FakeSource, "acknowledges", True)
    monkeypatch.setattr(FakeSource, "acknowledge", fail)
    with caplog.at_level(logging.WARNING):
        report, _ = run_through(ground.run(ground.tables("a", rows_per_second=None)))
    assert report.outcome is JobOutcome.FINISHED
    assert ground.rows("a") == ALL
    assert "the group stays where it is" in caplog.text


class _States:
    """Of a checkpoint whose rows are all published."""

    def __init__(self, number: int) -> None:
        self.sources = {"in": SimpleNamespace(memory={"n": number})}

    def unread(self, name: str, enumerated: Sequence[Split]) -> Sequence[Split]:
        return ()


@pytest.mark.parametrize(("oldest", "expected"), [(True, [1, 1, 2]), (False, [1, 2, 3, 4])])
def test_a_place_that_discards_hears_of_the_oldest_checkpoint(oldest: bool, expected: list[int]) -> None:
    """A replication slot: the job may go back to any checkpoint that is stored, but not behind the slot."""
    said: list[int] = []

    def acknowledge(planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        said.append(cursor["n"])

    source = SimpleNamespace(acknowledges=True, acknowledges_oldest=oldest, acknowledge=acknowledge)
    planned = SimpleNamespace(id=1, sources=[SimpleNamespace(name="in", source=source)])
    stored: list[int] = []
    told = Acknowledgements(planned, lambda: stored)  # type: ignore[arg-type]
    for number, kept in ((1, [1]), (2, [1, 2]), (3, [2, 3]), (4, [0, 3, 4])):  # 0 is of an earlier process
        told.stored(number, _States(number))  # type: ignore[arg-type]
        stored[:] = kept
        told.published(number)
    assert said == expected
