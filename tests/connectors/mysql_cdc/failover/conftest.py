"""Fixtures of the tests of failovers."""

from collections.abc import Iterator

import pytest

from seatunnel_core.connectors.jdbc.pool import forget
from tests.servers.replicas import Pair


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A primary and its replica."""
    found = Pair(request.param)
    with found.running():
        yield found
    forget()
