from collections.abc import Iterator

import pytest

from tests.connectors.postgres_log.log_shop import LogPostgres, LogShop
from tests.servers.shared import shared


@pytest.fixture
def shop() -> Iterator[LogShop]:
    made = LogShop(shared(LogPostgres))
    yield made
    made.close()
