"""Short plays of the nemesis: ``make nemesis`` plays long ones, on clusters of every kind."""

import os
from pathlib import Path

import pytest

from tests.figures import Figure
from tests.server.nemesis.campaign import play_batch

MINUTES = float(os.environ.get("SEATUNNEL_MINUTES", "3"))
SEED = int(os.environ.get("SEATUNNEL_SEED", "1"))

pytestmark = pytest.mark.spark


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_a_host_and_its_jvm_are_killed_and_nothing_is_lost(tmp_path: Path, figure: Figure) -> None:
    """One fault of each kind, in less than a minute on a machine that has time. Without root, on ports of loopback."""
    batch, verdict = play_batch(
        tmp_path / "batch", "files", 1, 3, {}, only="kill a host", clients_count=2, most_faults=2
    )
    assert sum(batch.faults.values()) >= 2
    assert verdict.problems == []
    assert batch.ends
    figure(f"{batch.count} faults, {batch.jobs} jobs: {batch.lost} lost, {batch.doubled} doubled")


@pytest.mark.torture
@pytest.mark.timeout(2_400)
def test_every_acknowledged_job_ends_once_and_its_rows_come_once(tmp_path: Path) -> None:
    batch, verdict = play_batch(tmp_path / "batch", "files", SEED, MINUTES, {})
    assert batch.count
    assert verdict.problems == []
