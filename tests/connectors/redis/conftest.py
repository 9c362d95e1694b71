"""An empty Redis, and a client of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.redis_server import RedisServer
from tests.servers.shared import shared


@pytest.fixture
def server() -> RedisServer:
    found = shared(RedisServer)
    with found.client() as client:
        client.flushall()
    return found


@pytest.fixture
def client(server: RedisServer) -> Iterator[Any]:
    with server.client() as found:
        yield found
