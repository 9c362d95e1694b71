"""The places that the tests of a cluster's state run in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.state.stores import Place, a_place

SERVERS = [pytest.param(kind, marks=pytest.mark.servers) for kind in ("postgresql", "mariadb")]


@pytest.fixture(params=["files", "sqlite", *SERVERS])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with a_place(request.param, tmp_path) as made:
        yield made


@pytest.fixture(params=["sqlite", *SERVERS])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """In a database only."""
    with a_place(request.param, tmp_path) as made:
        yield made
