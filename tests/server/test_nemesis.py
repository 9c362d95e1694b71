"""A short play of the nemesis: ``make nemesis`` plays long ones, on clusters of every kind."""

import os
from pathlib import Path

import pytest

from tests.server.nemesis.campaign import play_batch

MINUTES = float(os.environ.get("SEATUNNEL_MINUTES", "3"))
SEED = int(os.environ.get("SEATUNNEL_SEED", "1"))


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(2_400)
def test_every_acknowledged_job_ends_once_and_its_rows_come_once(tmp_path: Path) -> None:
    batch, verdict = play_batch(tmp_path / "batch", "files", SEED, MINUTES, {})
    assert batch.count
    assert verdict.problems == []
