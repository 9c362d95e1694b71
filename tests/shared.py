"""Fixtures that tests of several folders use; what they need is imported when a test asks for them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.connectors.jdbc.databases import Database
    from tests.runtime.ground import Ground
    from tests.servers.kafka import Kafka


@pytest.fixture
def ground(tmp_path: Path) -> "Iterator[Ground]":
    """Jobs of a test run their tasks in this process; ``work`` is an empty folder."""
    from seatunnel_core.connectors.jdbc.pool import forget
    from tests.runtime.ground import ground_in

    with ground_in(tmp_path) as made:
        made.work.mkdir()
        yield made
    forget()


SERVERS = [pytest.param(kind, marks=pytest.mark.servers) for kind in ("postgresql", "mysql")]
EACH = ["sqlite", *SERVERS]
"""Kinds of databases, for ``parametrize``: SQLite needs no server."""


@pytest.fixture(params=EACH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[Database]":
    """An empty database of each kind, or of those of the test's own parameter ``database``."""
    from seatunnel_core.connectors.jdbc.pool import forget
    from tests.connectors.jdbc.databases import empty

    yield empty(request.param, tmp_path)
    forget()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Kafka]":
    from tests.servers.kafka import Kafka

    with Kafka(tmp_path_factory.mktemp("kafka")) as running:
        yield running
