"""What a task does with the facts that a reader reports (R17)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from watched import Numbers, numbers_chain, numbers_unit

from seatunnel_core.connector_api.source import Fact, PollCursor, ReadContext
from seatunnel_core.connector_api.testing import Skipped
from seatunnel_core.rows.batch import Batch
from seatunnel_core.spark.task import run_unit
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import UnitAttempt, WorkUnit


class Reporting(Numbers):
    """Reports the fact in a split's body before it reads the split."""

    bounded = False

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        return {**cursor, "facts": [*facts]}

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        context.report_fact(split.body["fact"])
        yield from super().read(split, context)


class Bounded(Reporting):
    bounded = True


class Deaf(Reporting):
    absorb = None  # type: ignore[assignment]


def result_of(folder: Path, *units: WorkUnit, source: type[Reporting] = Reporting) -> UnitResult:
    """Read the splits of the units as one unit."""
    unit = evolve(units[0], splits=tuple(split for each in units for split in each.splits))
    chain = evolve(numbers_chain(folder), source=source())
    return run_unit(chain, UnitAttempt(unit=unit, epoch=1, number=1), 1)


def test_facts_are_reported_with_the_rows_of_their_unit_in_order(tmp_path: Path) -> None:
    """As JSON has them: what a source absorbs is the same whether or not a checkpoint came between."""
    result = result_of(tmp_path, numbers_unit(1, fact={"at": (1, 2)}), numbers_unit(2, fact={"at": "b"}))
    assert (result.failure, result.rows_read) == (None, 40)
    assert result.facts == ({"at": [1, 2]}, {"at": "b"})


def test_a_unit_that_fails_has_no_facts(tmp_path: Path) -> None:
    result = result_of(tmp_path, numbers_unit(1, fact={"at": 1}, bad=10))
    assert result.failure is not None
    assert result.facts == ()


@pytest.mark.parametrize("source", [Bounded, Deaf])
def test_a_fact_that_no_poll_would_receive_is_an_error(tmp_path: Path, source: type[Reporting]) -> None:
    failure = result_of(tmp_path, numbers_unit(1, fact={"at": 1}), source=source).failure
    assert failure is not None
    assert failure.message == (
        "pipeline 1, source 'numbers': Numbers reported a fact, but only an unbounded source that implements absorb "
        "receives facts: this is a bug in the plugin"
    )


@pytest.mark.parametrize("value", [b"bytes", float("nan"), {1, 2}])
def test_a_fact_that_is_not_json_is_an_error(tmp_path: Path, value: Any) -> None:
    failure = result_of(tmp_path, numbers_unit(1, fact={"at": value})).failure
    assert failure is not None
    assert "Numbers reported a fact that is not JSON (" in failure.message


def test_other_contexts_take_no_facts() -> None:
    with pytest.raises(NotImplementedError, match="does not support facts"):
        ReadContext.report_fact(Skipped(), {"at": 1})
