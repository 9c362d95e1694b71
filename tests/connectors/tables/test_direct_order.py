"""Sources whose splits have an order (R13), and a sink that writes directly: the newest row of a key stays."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.config.option import BOOLEAN, STRING, Option
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
_READ: dict[str, list[int]] = {}
"""By job: the splits that were read, in the order in which they were read to their end."""


class Versions(Source):
    """The versions of a row, or of two rows in turn, each a work unit of its own. The oldest is in trouble at first."""

    identifier = "Versions"
    declared = (
        Option("job", STRING, required=True, doc="The job."),
        Option("oldest", STRING, doc="Its trouble."),
        Option("keyed", BOOLEAN, default=False, doc="Two rows, each with an ordering key."),
    )
    ordered = True
    waits = False

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        split, keyed = Split(index=0, weight_bytes=1 << 40, rows=1, body={}), self.options["keyed"]
        rows = [at % 2 if keyed else 0 for at in range(VERSIONS)]
        splits = (
            evolve(split, index=at, body={"id": row, "version": at}, ordering_key=f"{row}" if keyed else None)
            for at, row in enumerate(rows)
        )
        return Enumeration(schemas=(SCHEMA,), splits=tuple(splits))

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        read, tried = _READ[self.options["job"]], _READ.setdefault(f"{self.options['job']}, tried", [])
        if split.index == 0 and not tried:
            tried.append(0)
            if self.options["oldest"] == "fails":
                error = SourceError("the connection was lost")
                error.retryable = True
                raise error
            time.sleep(2)
        read.append(split.index)
        rows = [[split.body["id"]], [split.body["version"]]]
        yield Batch(table="items", rows=pa.record_batch(rows, schema=SCHEMA.columns))


class Registry:
    """The installed plugins, and this source."""

    def source(self, identifier: str) -> Any:
        return Versions if identifier == "Versions" else lookup.source(identifier)

    def transform(self, identifier: str) -> Any:
        return lookup.transform(identifier)

    def sink(self, identifier: str) -> Any:
        return lookup.sink(identifier)


def written(tmp_path: Path, oldest: str, parallelism: int, more: str = "") -> list[tuple[int, int]]:
    """The rows of the target when a job has ended."""
    shop = tmp_path / "shop.db"
    _READ[f"{tmp_path}"] = []
    source = f'Versions {{ job = "{tmp_path}", oldest = "{oldest}" {more} }}'
    sink = f'Jdbc {{ url = "jdbc:sqlite:{shop}", table = items, primary_keys = [id], generate_sink_sql = true }}'
    with ground_in(tmp_path) as ground:
        text = job(f"job.mode = BATCH, parallelism = {parallelism}, job.retry.times = 0", [source], [sink])
        report, _ = run_through(ground.run(text, registry=Registry()))
    assert report.outcome is JobOutcome.FINISHED, report
    with closing(sqlite3.connect(shop)) as connection:
        return connection.execute("SELECT id, version FROM items ORDER BY id").fetchall()


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("oldest", TROUBLE)
def test_a_unit_that_fails_or_is_slow_does_not_overwrite_newer_rows(
    tmp_path: Path, oldest: str, parallelism: int
) -> None:
    assert written(tmp_path, oldest, parallelism) == [(0, VERSIONS - 1)]
    assert _READ[f"{tmp_path}"] == [*range(VERSIONS)]


@pytest.mark.parametrize("oldest", TROUBLE)
def test_units_with_another_ordering_key_do_not_wait_for_it(tmp_path: Path, oldest: str) -> None:
    assert written(tmp_path, oldest, 2, ", keyed = true") == [(0, VERSIONS - 2), (1, VERSIONS - 1)]
    read = _READ[f"{tmp_path}"]
    assert read.index(1) < read.index(0) < read.index(2)
