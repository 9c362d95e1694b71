"""Progress of a job that captures MariaDB: its snapshot ends, and its lag grows with writers and falls to zero."""

from pathlib import Path

import pytest

from seatunnel_core.runtime.job_run import JobRun
from tests.cdc.shown import shown
from tests.connectors.mysql_cdc.cdc_servers import SERVERS
from tests.connectors.mysql_cdc.test_cdc_job import text, until
from tests.connectors.mysql_cdc.writers import Writers
from tests.runtime.ground import ground_in
from tests.servers.shared import shared

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(120)]


def is_copied(run: JobRun) -> bool:
    snapshot = shown(run).snapshot
    return snapshot is not None and snapshot.is_done


def test_the_snapshot_ends_and_the_lag_falls_to_zero(tmp_path: Path) -> None:
    server = shared(SERVERS["maria"])
    server.empty()
    writers = Writers(server)
    writers.create(rows=2_000)
    with ground_in(tmp_path) as ground, ground.run(text(server, tmp_path)) as run:
        run.start()
        until(lambda: is_copied(run), run)
        snapshot = shown(run).snapshot
        assert snapshot is not None
        assert (snapshot.tables, snapshot.listed) == (2, ())
        assert snapshot.chunks_done >= 4
        with writers.running():
            until(lambda: (shown(run).lag_bytes or 0) > 0, run)
        looks = []

        def caught_up() -> bool:
            """Other tests write to the log of the same server, so the next look may see a lag again."""
            looks.append(shown(run))
            return looks[-1].lag_bytes == 0

        until(caught_up, run)
        found = looks[-1]
        assert (found.lag_seconds, found.position, found.snapshot) == (0, found.end, snapshot)

        def is_needed_no_more() -> bool:
            looks.append(shown(run))
            return looks[-1].oldest == looks[-1].position

        until(is_needed_no_more, run)
        run.kill()
