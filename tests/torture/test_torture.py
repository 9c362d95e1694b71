"""Killed and resumed until done, as often as one likes with ``make torture RUNS=…``.

What `make test` has of it runs in one process: ``tests/claiming/test_restored_jobs.py`` and the matrix beside it.
"""

import os
import sys
from collections import Counter
from collections.abc import Sequence

import pytest

from seatunnel_core.connectors.file.formats.names import WRITTEN
from tests.torture.__main__ import ROWS, torture
from tests.torture.job import BEHIND_SERVERS
from tests.torture.run import Run

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are watched through /proc"),
]

RUNS = int(os.environ.get("SEATUNNEL_RUNS", "30"))
SEED = 20_130_101
ALL = {"driver", "jvm", "worker", "paused"}


def killed_often_enough_while_rows_moved(runs: Sequence[Run]) -> None:
    mid_flight = sum(len(run.mid_flight()) for run in runs)
    wanted = 20 if RUNS >= 30 else RUNS // 2
    assert mid_flight >= wanted, "too few kills between the first staged unit and the last commit"


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_killed_job_is_resumed_to_every_row_once() -> None:
    """It is killed while it publishes, without the system's rename, and again while it is being restored."""
    (run,) = torture((4,), seed=SEED, rows=ROWS, at_once=1)
    assert not run.fault
    assert len(run.kills) == 2


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_many_killed_jobs_are_resumed_to_every_row_once() -> None:
    """The kills hit the driver, the JVM and Python workers; most of them while rows are on their way."""
    runs = torture(range(RUNS), seed=SEED, rows=ROWS, at_once=2)
    assert not [run.line() for run in runs if run.fault]
    killed_often_enough_while_rows_moved(runs)
    killed_in = {victim: {kill.phase for run in runs for kill in run.kills if kill.victim == victim} for victim in ALL}
    if RUNS >= 6:
        assert killed_in["driver"]
        assert killed_in["jvm"]
        assert killed_in["worker"]
    if RUNS >= 30:
        phases = Counter(kill.phase for run in runs for kill in run.kills)
        assert {"store", "between store and commit", "commit", "prune", "restore"} <= phases.keys()
        assert {kill.victim for run in runs for kill in run.kills} == ALL
        assert min(len(killed_in["jvm"]), len(killed_in["worker"])) >= 3, "each at several moments"


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_killed_jobs_append_every_row_once_to_iceberg() -> None:
    runs = torture(range(RUNS), seed=SEED, rows=ROWS, at_once=2, sink="iceberg")
    assert not [run.line() for run in runs if run.fault]
    killed_often_enough_while_rows_moved(runs)


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_killed_job_merges_and_replaces_every_row_once() -> None:
    """The short form of ``make torture-modes``: tables of DuckDB with rows of yesterday, merged into and replaced."""
    (run,) = torture((2,), seed=SEED, rows=ROWS // 2, at_once=1, sink="duckdb")
    assert not run.fault


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.servers
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sink", BEHIND_SERVERS)
def test_many_killed_jobs_move_every_row_once_to_a_server(sink: str) -> None:
    runs = torture(range(RUNS), seed=SEED, rows=ROWS, at_once=2, sink=sink)
    assert not [run.line() for run in runs if run.fault]
    killed_often_enough_while_rows_moved(runs)


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.timeout(7200)
def test_many_killed_jobs_write_every_row_once_in_every_format() -> None:
    runs = torture(range(RUNS), seed=SEED, rows=ROWS // 3, at_once=2, sink=",".join(WRITTEN))
    assert not [run.line() for run in runs if run.fault]
    struck = {format: sum(run.struck(format) for run in runs) for format in WRITTEN}
    assert min(struck.values()) >= min(20, RUNS), f"too few kills while rows were on their way: {struck}"
