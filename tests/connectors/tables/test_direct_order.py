"""Sources whose splits have an order (R13), and a sink that writes directly: the newest row of a key stays."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.config.option import STRING, Option
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.errors import SourceError
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.split import Split
from tests.runtime.command import job
from tests.runtime.ground import ground_in, run_through

VERSIONS = 4
SCHEMA = TableSchema(table="items", columns=pa.schema([("id", pa.int64()), ("version", pa.int64())]))
TROUBLE = ("fails", "is slow")
_TRIED: set[str] = set()
"""By job: those of which the first split was read."""


class Versions(Source):
    """The versions of one row in their order, each a work unit of its own. The oldest is in trouble at first."""

    identifier = "Versions"
    declared = (Option("job", STRING, required=True, doc="The job."), Option("oldest", STRING, doc="Its trouble."))
    ordered = True
    waits = False

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        splits = (Split(index=at, weight_bytes=1 << 40, rows=1, body={"version": at}) for at in range(VERSIONS))
        return Enumeration(schemas=(SCHEMA,), splits=tuple(splits))

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        named = self.options["job"]
        if split.index == 0 and named not in _TRIED:
            _TRIED.add(named)
            if self.options["oldest"] == "fails":
                error = SourceError("the connection was lost")
                error.retryable = True
                raise error
            time.sleep(2)
        yield Batch(table="items", rows=pa.record_batch([[1], [split.body["version"]]], schema=SCHEMA.columns))


class Registry:
    """The installed plugins, and this source."""

    def source(self, identifier: str) -> Any:
        return Versions if identifier == "Versions" else lookup.source(identifier)

    def transform(self, identifier: str) -> Any:
        return lookup.transform(identifier)

    def sink(self, identifier: str) -> Any:
        return lookup.sink(identifier)


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("oldest", TROUBLE)
def test_a_unit_that_fails_or_is_slow_does_not_overwrite_newer_rows(
    tmp_path: Path, oldest: str, parallelism: int
) -> None:
    shop = tmp_path / "shop.db"
    source = f'Versions {{ job = "{tmp_path}", oldest = "{oldest}" }}'
    sink = f'Jdbc {{ url = "jdbc:sqlite:{shop}", table = items, primary_keys = [id], generate_sink_sql = true }}'
    with ground_in(tmp_path) as ground:
        text = job(f"job.mode = BATCH, parallelism = {parallelism}, job.retry.times = 0", [source], [sink])
        report, _ = run_through(ground.run(text, registry=Registry()))
    assert report.outcome is JobOutcome.FINISHED, report
    with closing(sqlite3.connect(shop)) as connection:
        assert connection.execute("SELECT id, version FROM items").fetchall() == [(1, VERSIONS - 1)]
