"""The source and the sink ``Spark`` in jobs that are processes: killed and restored, and at each parallelism."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.test_each_connector import PARALLELISMS, PATIENCE_S
from tests.runtime.command import Command, column, fake_source, ids, parquet_sink, staged
from tests.runtime.command import job as job_text
from tests.runtime.ground import ALL, ROWS
from tests.torture.moments import FINAL


def of_spark(folder: Path, parallelism: int) -> Command:
    (folder / "in.csv").write_text("".join(f"{each}\n" for each in ALL))
    source = f"""
  Spark {{ plugin_output = a, format = csv, path = "{folder}/in.csv", schema = "id BIGINT", replayable = true }}"""
    env = f"job.mode = BATCH, parallelism = {parallelism}"  # no interval: the final checkpoint names all rows
    return Command.of(folder, job_text(env, [source], [parquet_sink("a", folder / "out")]))


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.torture
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_killed_job_of_spark_is_restored(tmp_path: Path, side: str) -> None:
    """Its one split is staged and not committed: the checkpoint that names it is about to be stored, or just is."""
    command = of_spark(tmp_path, 2)
    first = command.begin(stop=["link", FINAL, 1, side])
    while not first.stopped:
        assert first.exit_code is None, first.output
        assert first.age_s < PATIENCE_S
    first.kill()
    first.end()
    assert column(tmp_path / "out", "id") == []
    assert staged(tmp_path / "out")
    second = command.resume()
    assert second.wait(PATIENCE_S) == 0, second.output
    assert column(tmp_path / "out", "id") == ALL
    assert staged(tmp_path / "out") == []


@pytest.mark.parametrize("parallelism", PARALLELISMS)
@pytest.mark.torture
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_same_rows_of_spark_at_every_parallelism(tmp_path: Path, parallelism: int) -> None:
    engine = of_spark(tmp_path, parallelism).begin()
    assert engine.wait(PATIENCE_S) == 0, engine.output
    assert column(tmp_path / "out", "id") == ALL


def into_spark(folder: Path, parallelism: int, more: str = "") -> Command:
    source = fake_source("a", rows=ROWS // parallelism, splits=24)
    source = source.replace("parallelism = 1", f"parallelism = {parallelism}")
    sink = f"""
  Spark {{ plugin_input = [a], format = parquet, path = "{folder}/out", staging_path = "{folder}/staging" }}"""
    env = f"job.mode = BATCH, checkpoint.interval = 500{more}"
    return Command.of(folder, job_text(env, [source], [sink]))


@pytest.mark.parametrize("stop", [None, ["unlink", r"/staging/\.seatunnel/.*/rows-", 1, "before"]])
@pytest.mark.torture
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_killed_job_into_spark_is_restored(tmp_path: Path, stop: list[Any] | None) -> None:
    """Killed when some rows are there; or when Spark has written the first ones and nobody has noted that. The stop
    takes a moment to reach all threads, in which what was written may still be removed: then it does not come twice."""
    first = into_spark(tmp_path, 2, ", read_limit.rows_per_second = 60").begin(stop=stop)
    while not (first.stopped if stop else len(ids(tmp_path / "out")) >= ROWS // 6):
        assert first.exit_code is None, first.output
        assert first.age_s < PATIENCE_S
        time.sleep(0.05)
    before = ids(tmp_path / "out")
    first.kill()
    first.end()
    assert 0 < len(before) < ROWS
    second = into_spark(tmp_path, 2).resume()
    assert second.wait(PATIENCE_S) == 0, second.output
    found = ids(tmp_path / "out")
    assert sorted(set(found)) == ALL
    assert staged(tmp_path / "staging") == []
    twice = len(found) - ROWS
    assert 0 <= twice <= (len(before) if stop else ROWS // 2), "the rows of one checkpoint at most"


@pytest.mark.parametrize("parallelism", PARALLELISMS)
@pytest.mark.torture
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_same_rows_into_spark_at_every_parallelism(tmp_path: Path, parallelism: int) -> None:
    engine = into_spark(tmp_path, parallelism).begin()
    assert engine.wait(PATIENCE_S) == 0, engine.output
    assert ids(tmp_path / "out") == ALL
