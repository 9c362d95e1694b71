"""Fixtures of tests of the log with servers."""

from collections.abc import Iterator
from typing import Any

import pytest

from seatunnel_core.connectors.jdbc.pool import forget
from tests.connectors.mysql_log.log_servers import SERVERS, LogShop
from tests.servers.shared import shared

TWINS = [pytest.param(kind, marks=pytest.mark.twin) for kind in ("my8", "my57")]


@pytest.fixture(params=["maria", *TWINS])
def shop(request: pytest.FixtureRequest) -> Iterator[LogShop]:
    """An empty database of each server."""
    server: Any = shared(SERVERS[request.param])
    server.empty()
    yield LogShop(server, request.param)
    forget()
