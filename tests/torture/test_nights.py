"""A job that loads what is new, killed night after night: a short part of ``make increments``."""

import sys
from pathlib import Path

import pytest

from tests.torture.nights import nights

pytestmark = [
    pytest.mark.spark,
    pytest.mark.torture,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are watched through /proc"),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", ["jdbc", "http"])
def test_each_row_comes_once_and_the_cursor_knows(tmp_path: Path, source: str) -> None:
    """How many kills hit the job depends on how fast it is: another campaign follows one that missed its rows."""
    for seed in range(1, 6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        campaign = nights(3, kills=4, seed=seed, folder=folder, source=source)
        if campaign.kills_with_rows:
            return
    pytest.fail("no kill of five campaigns came between the claim and the end of a job")
