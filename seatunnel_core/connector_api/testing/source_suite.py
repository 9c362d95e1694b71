"""Conformance tests of bounded sources."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from seatunnel_core.connector_api.source import PlanningContext, Source
from seatunnel_core.connector_api.testing.drive import Skipped, options_of, plan, read, shipped

__all__ = ["SourceConformance"]

LARGEST_BODY = 4096
"""Maximum size of a split's body, in bytes of JSON."""


class SourceConformance(ABC):
    """Test suite to subclass in your tests. Name the class ``Test…``; define the source, its options and its rows."""

    source_class: type[Source]

    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """Return options in configuration-file form, for a source that has at least two splits at parallelism 2."""

    @abstractmethod
    def expected(self) -> Sequence[Mapping[str, Any]]:
        """Return all rows that the source must return at parallelism 2, in any order."""

    planning = PlanningContext(parallelism=2)

    def source(self) -> Source:
        """Return a new source for the options."""
        return self.source_class(options_of(self.source_class, self.options()))

    def test_gives_every_row_once(self) -> None:
        """Compare all rows with ``expected``."""
        source = self.source()
        found = read(source, plan(source, self.planning))
        assert _multiset(found) == _multiset(self.expected())

    def test_splits_are_numbered_from_zero_without_gaps_and_say_what_they_weigh(self) -> None:
        """Check the index and the weight of each split."""
        splits = plan(self.source(), self.planning).splits
        assert [split.index for split in splits] == list(range(len(splits)))
        assert all(split.rows >= 1 and split.weight_bytes >= 0 for split in splits)
        assert len(splits) >= 2, "choose options with which the source has at least two splits"

    def test_a_second_enumeration_is_equal(self) -> None:
        """Enumerate twice."""
        first, second = plan(self.source(), self.planning), plan(self.source(), self.planning)
        assert [split.body for split in first.splits] == [split.body for split in second.splits]
        assert [split.ordering_key for split in first.splits] == [split.ordering_key for split in second.splits]
        assert [schema.columns for schema in first.schemas] == [schema.columns for schema in second.schemas]

    def test_a_split_gives_the_same_rows_again(self) -> None:
        """Read each split twice."""
        source = self.source()
        found = plan(source, self.planning)
        for split in found.splits:
            assert repr(read(source, found, [split])) == repr(read(self.source(), found, [split]))

    def test_a_split_that_was_left_in_the_middle_gives_all_its_rows_again(self) -> None:
        """Stop reading a split after its first batch, and read it again."""
        source = self.source()
        found = plan(source, self.planning)
        for split in found.splits:
            whole = read(source, found, [split])
            begun = shipped(source).read(split, Skipped())
            next(begun, None)
            if isinstance(begun, Generator):
                begun.close()
            assert repr(read(source, found, [split])) == repr(whole)

    def test_splits_can_be_read_at_the_same_time(self) -> None:
        """Read several splits alternately from one object, as a task may do."""
        source = self.source()
        found = plan(source, self.planning)
        in_task = shipped(source)
        alone = [repr(read(source, found, [split])) for split in found.splits]
        readings = [in_task.read(split, Skipped()) for split in found.splits]
        rows: list[list[Any]] = [[] for _ in readings]
        for batches in zip_longest(*readings):
            for number, batch in enumerate(batches):
                rows[number] += batch.rows.to_pylist() if batch is not None else []
        assert [repr(some) for some in rows] == alone

    def test_a_body_is_small(self) -> None:
        """Check the size of the bodies: every checkpoint contains the bodies of the splits being read."""
        for split in plan(self.source(), self.planning).splits:
            assert len(json.dumps(dict(split.body))) <= LARGEST_BODY, f"the body of split {split.index} is too large"

    def test_the_order_in_which_splits_are_read_does_not_matter(self) -> None:
        """Read the splits in reverse order."""
        source = self.source()
        found = plan(source, self.planning)
        backwards = read(source, found, reversed(found.splits))
        assert _multiset(backwards) == _multiset(self.expected())

    def test_a_speed_limit_changes_no_row(self) -> None:
        """Plan with a rate limit, and compare the rows."""
        source = self.source()
        slow = PlanningContext(parallelism=self.planning.parallelism, rows_per_second=50, bytes_per_second=1000)
        assert _multiset(read(source, plan(source, slow))) == _multiset(self.expected())

    def test_planned_schemas_are_those_of_the_enumeration(self) -> None:
        """Compare ``planned_schemas`` with the schemas of the enumeration."""
        source = self.source()
        planned = source.planned_schemas()
        assert planned is None or planned == plan(source, self.planning).schemas

    def test_every_option_is_documented(self) -> None:
        """Check that each option has a ``doc``."""
        for option in self.source_class.declared:
            assert option.doc.strip().endswith((".", "?", ")")), f"{option.key}: doc must be one or two sentences"


def _multiset(rows: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)
