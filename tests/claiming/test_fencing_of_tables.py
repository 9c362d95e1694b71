"""A kill between the final store and its commit, for the sink whose commit is a catalog's."""

from pathlib import Path

import pytest

from tests.claiming.zombie import PATIENCE_S, ROWS, until
from tests.connectors.iceberg.iceberg_tables import iceberg_sink, table_in
from tests.figures import Figure
from tests.runtime.command import Command, fake_source, job
from tests.torture.moments import FINAL


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("commands")
def test_a_kill_between_the_final_store_and_its_commit_loses_nothing_in_iceberg(tmp_path: Path, figure: Figure) -> None:
    """R7, as for files: the final checkpoint is stored, and all rows are staged and in no snapshot."""
    env = "job.mode = BATCH, parallelism = 2, read_limit.rows_per_second = 800"
    sink = iceberg_sink("in1", tmp_path)
    command = Command.of(tmp_path, job(env, [fake_source("in1", rows=ROWS, splits=24)], [sink]))
    first = command.begin(stop=["link", FINAL, 1, "after"])
    until(lambda: first.stopped, first)
    first.kill()
    first.end()
    assert table_in(tmp_path, "in1").scan().count() == 0
    waiting = len(list(tmp_path.rglob("data/**/*.parquet")))
    assert waiting
    second = command.resume()
    assert second.wait(PATIENCE_S) == 0, second.output
    found = table_in(tmp_path, "in1")
    assert sorted(found.scan().to_arrow()["id"].to_pylist()) == list(range(1, ROWS + 1))
    named = {Path(path).name for path in found.inspect.all_files()["file_path"].to_pylist()}
    assert {path.name for path in tmp_path.rglob("data/**/*.parquet")} == named
    figure(
        f"iceberg: killed with 0 rows in the table and {waiting} files staged; after -r every row once, no other file"
    )
