"""Topics of the tests."""

import pytest


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name of its own for each test."""
    return f"t{abs(hash(request.node.nodeid))}"
