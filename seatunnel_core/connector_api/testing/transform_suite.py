"""Conformance tests of transforms of Arrow batches."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.testing.drive import options_of, shipped
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.batch import Batch, TableSchema

__all__ = ["TransformConformance"]


class TransformConformance(ABC):
    """Test suite to subclass in your tests.

    Name the class ``Test…``; define the transform, its options and some rows.
    """

    transform_class: type[Transform]
    columns: pa.Schema | None = None
    """Columns of ``rows``; by default Arrow infers the types."""

    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """Return options in configuration-file form."""

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Return at least three rows of a table, including values such as null, an empty string and a minimum."""

    @abstractmethod
    def expected(self) -> Sequence[Mapping[str, Any]]:
        """Return the expected rows, in order."""

    def transform(self) -> Transform:
        """Return the transform as unpickled in a task."""
        return shipped(self.transform_class(options_of(self.transform_class, self.options())))

    def test_gives_the_expected_rows(self) -> None:
        """Check the rows of one batch."""
        assert self._passed([self._batch()]) == list(self.expected())

    def test_a_cut_between_any_two_rows_changes_nothing(self) -> None:
        """Check that the result is the same wherever a batch is divided into two."""
        whole = self._batch()
        for cut in range(whole.num_rows + 1):
            assert self._passed([whole.slice(0, cut), whole.slice(cut)]) == list(self.expected())

    def test_the_same_object_gives_the_same_rows_again(self) -> None:
        """Check that the transform keeps no state between batches."""
        transform = self.transform()
        first, second = (self._passed([self._batch()], transform) for _ in range(2))
        assert first == second

    def test_the_planned_columns_are_those_that_come(self) -> None:
        """Check that ``apply`` returns the columns that ``output_schemas`` declares."""
        schema = TableSchema(table="default", columns=self._batch().schema)
        announced = {after.table: after.columns for after in self.transform().output_schemas(schema)}
        for after in self.transform().apply(Batch(table="default", rows=self._batch())):
            assert after.rows.schema == announced.get(after.table)

    def test_every_option_is_documented(self) -> None:
        """Check that each option has documentation in complete sentences."""
        for option in self.transform_class.declared:
            assert option.doc.strip().endswith((".", "?", ")")), f"{option.key}: doc must be one or two sentences"

    def _batch(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([dict(row) for row in self.rows()], schema=self.columns)

    def _passed(self, batches: Sequence[pa.RecordBatch], transform: Transform | None = None) -> list[dict[str, Any]]:
        transform = transform or self.transform()
        given = [Batch(table="default", rows=rows) for rows in batches]
        return [row for batch in given for after in transform.apply(batch) for row in after.rows.to_pylist()]
