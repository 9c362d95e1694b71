"""Methods of the plugin interfaces that had other names in the version before this one."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest

from seatunnel_core.config.option import Option, Options
from seatunnel_core.connectors.source import Enumeration, Item, Planning, PollResult, ReadContext, Source
from seatunnel_core.rows.batch import Batch
from seatunnel_core.work.split import Split

PLANNING = Planning(parallelism=1)


class Ticking(Source):
    identifier = "Ticking"
    declared: ClassVar[tuple[Option[int], ...]] = ()

    def enumerate(self, inspected: Sequence[Item], planning: Planning) -> Enumeration:
        return Enumeration(schemas=(), splits=())

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        yield from ()

    def poll(self, memory: Item, planning: Planning) -> PollResult:
        return PollResult(memory={**memory, "polled": 1}, again_ms=7)


def test_a_source_that_defines_look_is_polled_with_it() -> None:
    with pytest.warns(DeprecationWarning, match="the method look of Looking is poll now") as warned:

        class Looking(Ticking):
            def look(self, memory: Item, planning: Planning) -> PollResult:
                return PollResult(memory={"looked": 1}, again_ms=None)

    assert warned[0].filename == __file__
    assert Looking(Options({}, ())).poll({}, PLANNING).memory == {"looked": 1}


def test_look_can_still_be_called_of_a_source_and_of_its_base() -> None:
    with pytest.warns(DeprecationWarning, match="the method look is poll now"):
        assert Ticking(Options({}, ())).look({}, PLANNING).again_ms == 7  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="look of Doubling is poll now"):

        class Doubling(Ticking):
            def look(self, memory: Item, planning: Planning) -> PollResult:
                return super().look({**memory, "own": 1}, planning)  # type: ignore[misc]

    with pytest.warns(DeprecationWarning, match="the method look is poll now"):
        assert Doubling(Options({}, ())).poll({}, PLANNING).memory == {"own": 1, "polled": 1}
    with pytest.warns(DeprecationWarning, match="the method look is poll now"):
        assert Source.look(Ticking(Options({}, ())), {}, PLANNING).again_ms is None  # type: ignore[attr-defined]
