"""The driver's end of the lines, for tests of a task's end."""

from collections.abc import Iterator

import pytest

from seatunnel_core.spark.report_channel import Exchange


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    made = Exchange("127.0.0.1", "127.0.0.1")
    yield made
    made.close()
