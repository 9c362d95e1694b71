"""Progress of a job that captures PostgreSQL: its snapshot ends, and its lag grows under a storm and falls to zero."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.connector_api.source_progress import SnapshotProgress
from seatunnel_core.runtime.job_run import JobRun
from tests.cdc.captured import COPY
from tests.cdc.shown import shown
from tests.cdc.storm import Storm, wait_until
from tests.connectors.postgres_cdc.storms import postgres_storm
from tests.runtime.ground import ground_in

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(120)]
SOURCE = "cdc_progress"
WAIT_S = 60


@pytest.fixture
def storm() -> Iterator[Storm]:
    with postgres_storm(SOURCE, rows=500, per_second=200) as made:
        yield made


def snapshot(run: JobRun) -> SnapshotProgress:
    return shown(run).snapshot or SnapshotProgress(tables=0, tables_done=0, chunks_done=0)


def test_the_snapshot_ends_and_the_lag_falls_to_zero(storm: Storm, tmp_path: Path) -> None:
    source = storm.captured.source_block(SOURCE, storm.tables, SOURCE, "snapshot.split.size = 50")
    env = "job.mode = STREAMING, parallelism = 2, checkpoint.interval = 200"
    text = f"env {{ {env} }}\nsource {{{source}\n}}\nsink {{{storm.captured.sink_block(COPY)}\n}}\n"
    with ground_in(tmp_path) as ground, ground.run(text) as run:

        def until(condition: object, what: str) -> None:
            assert callable(condition)
            wait_until(lambda: condition() or run.wait(0.01), WAIT_S, what)
            assert run.wait(0.01) is None, run.wait(0.01)

        run.start()
        until(lambda: snapshot(run).tables == len(storm.tables) and snapshot(run).is_done, "the snapshot")
        chunks = snapshot(run).chunks_done
        assert chunks > 20
        assert snapshot(run).listed == ()
        storm.begin()
        until(lambda: (shown(run).lag_bytes or 0) > 0, "a lag under the storm")
        storm.end()
        looks = []

        def caught_up() -> bool:
            """Other tests write to the log of the same server, so the next look may see a lag again."""
            looks.append(shown(run))
            return looks[-1].lag_bytes == 0

        until(caught_up, "the end of the lag")
        assert (looks[-1].lag_seconds, looks[-1].position) == (0, looks[-1].end)
        assert looks[-1].oldest
        assert snapshot(run).chunks_done == chunks
        run.kill()
