"""A short form of ``make cdc-cluster``: the leader, a process of a worker and the database are killed under a job."""

import random
from pathlib import Path

import pytest

from tests.cdc.captured import CapturedPostgres
from tests.cdc.on_cluster.faults import FAULTS, Ground
from tests.cdc.on_cluster.play import Round, running_cluster

pytestmark = [
    pytest.mark.spark, pytest.mark.servers, pytest.mark.torture, pytest.mark.long, pytest.mark.timeout(1200)
]  # fmt: skip

NUMBER = 900


def test_a_job_on_a_cluster_survives_kills(tmp_path: Path) -> None:
    captured = CapturedPostgres()
    with running_cluster(tmp_path / "cluster") as (masters, workers):
        ground = Ground(masters, workers, captured.server)
        played = Round(number=NUMBER, captured=captured, ground=ground, seconds=60, draw=random.Random(1)).play()
    assert not played.fault, played.line()
    assert played.faults
    assert played.looks


def test_each_group_has_faults() -> None:
    assert {each.of for each in FAULTS} == {"leader", "workers", "database"}
    assert len({each.name for each in FAULTS}) == len(FAULTS)
