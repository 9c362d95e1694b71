"""A driver that is killed, sent back to an older checkpoint by a command, and killed again while it takes rows back."""

from pathlib import Path

import pytest

from seatunnel_storage_api import lineage
from seatunnel_storage_api.discovery import open_storage
from tests.claiming.test_resuming import ROWS, until
from tests.figures import Figure
from tests.runtime.command import Command, column, fake_source, job, parquet_sink, published, staged

pytestmark = [pytest.mark.torture, pytest.mark.spark, pytest.mark.xdist_group("commands"), pytest.mark.timeout(900)]


def live(command: Command) -> list[str]:
    with open_storage("hdfs", {"namespace": f"{command.folder}/state/"}) as storage:
        infos = storage.list_checkpoints(command.job_id, 1)
        return [str(info.ref) for info in infos if info.ref in lineage.live(infos)]


def test_a_job_that_is_killed_while_it_goes_back_has_every_row_once(tmp_path: Path, figure: Figure) -> None:
    env = "job.mode = BATCH, checkpoint.interval = 200, read_limit.rows_per_second = 800"
    out = tmp_path / "out"
    command = Command.of(tmp_path, job(env, [fake_source("ids", rows=ROWS, splits=40)], [parquet_sink("ids", out)]))
    engine = command.begin()
    until(lambda: len(command.checkpoints()) == 3 and len(published(out)) > 8, engine, 180)
    engine.kill()
    engine.end()
    before = set(published(out))
    oldest = live(command)[0]

    refused = command.resume("--restore-with-checkpoint", oldest)
    assert refused.wait(120) == 2, refused.output
    assert set(published(out)) == before

    engine = command.resume("--restore-with-checkpoint", oldest, "--retract")
    until(lambda: before - set(published(out)), engine, 180)
    engine.kill()
    engine.end()
    taken_back = len(before - set(published(out)))

    engine = command.resume()
    assert engine.wait(240) == 0, engine.output
    assert column(out, "id") == list(range(1, ROWS + 1))
    assert not staged(out)
    figure(f"killed, sent back to {oldest}, killed when {taken_back} files were taken back: {ROWS:,} rows once")
