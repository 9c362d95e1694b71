"""Fixtures of tests of the source with servers."""

from collections.abc import Iterator
from typing import Any

import pytest

from seatunnel_core.connectors.jdbc.pool import forget
from tests.connectors.mysql_cdc.cdc_servers import SERVERS
from tests.servers.shared import shared

TWINS = [pytest.param(kind, marks=pytest.mark.twin) for kind in ("gtids", "locks", "my57")]


@pytest.fixture(params=["maria", *TWINS])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An empty database of each server."""
    found: Any = shared(SERVERS[request.param])
    found.empty()
    yield found
    forget()
