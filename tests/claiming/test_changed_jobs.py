"""A job that is changed between a kill and a restore has every row once, or is refused: see ``changed_jobs``."""

import os
from pathlib import Path

import pytest

from tests.claiming.changed_jobs import play

PLAYS = 10 * int(os.environ.get("SEATUNNEL_RUNS", "30"))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(1, 7))
def test_a_changed_job_has_every_row_once_or_is_refused(tmp_path: Path, seed: int) -> None:
    wrong, lines = play(seed, tmp_path)
    assert not wrong, "\n".join([*lines, *wrong])


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_many_changed_jobs_have_every_row_once_or_are_refused(tmp_path: Path) -> None:
    for seed in range(1000, 1000 + PLAYS):
        wrong, lines = play(seed, tmp_path / str(seed))
        assert not wrong, "\n".join([f"seed {seed}", *lines, *wrong])
