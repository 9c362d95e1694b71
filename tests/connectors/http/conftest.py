"""A service in this process, which each test finds with nothing in it."""

from collections.abc import Iterator

import pytest

from tests.servers.http_service import HttpService, http_service


@pytest.fixture(scope="module")
def running() -> Iterator[HttpService]:
    with http_service() as service:
        yield service


@pytest.fixture
def service(running: HttpService) -> HttpService:
    running.at.clear()
    running.asked.clear()
    return running
