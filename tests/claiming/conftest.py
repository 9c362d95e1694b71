"""Stored jobs of one and of two tables."""

from pathlib import Path

import pytest

from tests.claiming.tables import Played


@pytest.fixture
def one(tmp_path: Path) -> Played:
    """One table with the checkpoints 1, 2 and 3."""
    played = Played(tmp_path)
    played.begin("a")
    for number in (1, 2, 3):
        played.store(number, 2 * number)
    return played


@pytest.fixture
def two(tmp_path: Path) -> Played:
    played = Played(tmp_path)
    played.begin("a", "b")
    for pipeline, table in ((1, "a"), (2, "b")):
        for number in (1, 2):
            played.store(number, number, table=table, pipeline=pipeline)
    return played
