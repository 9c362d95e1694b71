"""A ``FakeSource`` of some columns, and what it gives."""

from typing import Any

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of, plan
from seatunnel_core.connector_api.testing.drive import shipped
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.rows.batch import Batch


def source(fields: Any, **options: Any) -> FakeSource:
    """A source of ``{name: type}``, or of a list of columns."""
    schema = {"columns": fields} if isinstance(fields, list) else {"fields": fields}
    values = {"schema": schema, "split.read-interval": 0, **options}
    return FakeSource(options_of(FakeSource, values))


def batches(of: FakeSource, *, parallelism: int = 1) -> list[Batch]:
    """All splits, read in a task of their own after a checkpoint."""
    found = plan(of, PlanningContext(parallelism=parallelism))
    copies = ((shipped(of), split) for split in found.splits)
    return [batch for copy, split in copies for batch in copy.read(split, None)]  # type: ignore[arg-type]


def column(of: FakeSource, *, parallelism: int = 1) -> list[Any]:
    """The values of the first column, whose arrays must be sound."""
    found = batches(of, parallelism=parallelism)
    for batch in found:
        batch.rows.validate(full=True)
        assert batch.rows.schema.equals(of.planned_schemas()[0].columns)
    return [value for batch in found for value in batch.rows.column(0).to_pylist()]
