"""Checkpoints that an earlier commit stored are restored by this code: none of their rows is lost or doubled.

``written_by_old_code`` has what a killed job of commit b711831 left in its checkpoint storage. The torture test runs
the code of ``SEATUNNEL_OLD`` (by default that commit) itself, with a sink of each kind, and kills it in the middle.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.connectors.duckdb.duckdb_file import asked
from tests.connectors.iceberg.iceberg_tables import catalog_of, table_in
from tests.runtime.command import Command, ids, job
from tests.runtime.ground import WAIT_S, ground_in
from tests.server.test_rolling_upgrade import code_of

STORED = Path(__file__).parent / "written_by_old_code"
OLD = os.environ.get("SEATUNNEL_OLD") or "b711831"

ASSERT_JOB = """
env { job.mode = BATCH, parallelism = 2 }
source {
  FakeSource { plugin_output = a, row.num = 200, split.num = 20, auto.increment.enabled = true
    schema { fields { id = bigint, text = string } } }
}
sink {
  Assert { plugin_input = [a], rules { row_rules = [
    { rule_type = MIN_ROW, rule_value = 400 }, { rule_type = MAX_ROW, rule_value = 400 }] } }
}
"""


def test_a_stored_checkpoint_of_an_earlier_commit_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sink has counted a part of the rows; both processes together count all of them."""
    read: list[int] = []
    before = FakeSource.read
    monkeypatch.setattr(
        FakeSource, "read", lambda self, split, context: (read.append(split.index), before(self, split, context))[1]
    )
    with ground_in(tmp_path) as ground:
        shutil.copytree(STORED / "assert-job", ground.work / "state" / "old-job")
        with ground.run(ASSERT_JOB, "old-job", restore=Restore("old-job")) as run:
            run.start()
            report = run.wait(WAIT_S)
    assert report is not None
    assert (report.outcome, report.resumed) == (JobOutcome.FINISHED, True), report
    (pipeline,) = report.pipelines
    assert pipeline.rows_committed == 400
    assert 0 < len(set(read)) < 40, "it read the splits that the checkpoint lacks"


# -- the code of the earlier commit ---------------------------------------------------------------------------------

ROWS = 400
_SOURCE = f"""FakeSource {{ plugin_output = a, row.num = {ROWS}, split.num = 40, auto.increment.enabled = true
    schema {{ fields {{ id = bigint, text = string }} }} }}"""
_MERGE = "write_mode = merge, merge_key = [id]"
SINKS: dict[str, str] = {
    "files": 'LocalFile { path = "FOLDER/out", file_format_type = parquet }',
    "jdbc": f'Jdbc {{ url = "jdbc:sqlite:FOLDER/out.db", table = out, {_MERGE} }}',
    "duckdb": f'DuckDB {{ path = "FOLDER/shop.duckdb", table = out, {_MERGE} }}',
    "iceberg": "Iceberg { iceberg.catalog.config = CATALOG, namespace = shop, table = out }",
}


def _ids(kind: str, folder: Path) -> list[int]:
    if kind == "files":
        return ids(folder / "out")
    if kind == "jdbc":
        with closing(sqlite3.connect(folder / "out.db")) as database:
            return sorted(number for (number,) in database.execute("SELECT id FROM out"))
    if kind == "duckdb":
        return sorted(number for (number,) in asked(folder, "SELECT id FROM out"))
    found = table_in(folder, "out").scan().to_arrow()
    return sorted(found.column("id").to_pylist())


@pytest.fixture(scope="module")
def old_code(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables with which a process runs the code of the earlier commit."""
    return code_of(OLD, tmp_path_factory.mktemp("old") / "code")


@pytest.mark.torture
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", SINKS)
def test_a_job_of_an_earlier_commit_is_killed_and_resumed(kind: str, tmp_path: Path, old_code: dict[str, str]) -> None:
    """The old code is killed as soon as it has stored forty checkpoints."""
    sink = SINKS[kind].replace("FOLDER", str(tmp_path)).replace("CATALOG", json.dumps(catalog_of(tmp_path)))
    env = "job.mode = BATCH, parallelism = 1, checkpoint.interval = 100, read_limit.rows_per_second = LIMIT"
    text = job(env, [_SOURCE], [sink.replace("{", "{ plugin_input = [a],", 1)])
    command = Command.of(tmp_path, text.replace("LIMIT", "25"))
    arguments = ["-c", "job.conf", "--engine-config", "seatunnel.yaml", "--set-job-id", command.job_id]
    with open(tmp_path / "old.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "seatunnel_core.cli", *arguments],
            cwd=tmp_path, env={**os.environ, **old_code, "HOME": str(tmp_path / "home")}, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + WAIT_S
        while max(map(_number, command.checkpoints()), default=0) < 40 or (
            kind == "iceberg" and not _ids(kind, tmp_path)
        ):
            assert process.poll() is None, (tmp_path / "old.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert 0 < len(_ids(kind, tmp_path)) < ROWS, "it was killed in the middle"
    Command.of(tmp_path, text.replace("LIMIT", "100000"))
    engine = command.resume()
    assert engine.wait(WAIT_S) == 0, engine.output
    assert _ids(kind, tmp_path) == list(range(1, ROWS + 1))


def _number(checkpoint: str) -> int:
    """Return the ID of a checkpoint, by the name of its file."""
    return int(checkpoint.partition("-")[2].partition(".")[0])
