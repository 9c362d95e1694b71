"""A cluster of two nodes for all tests of orchestrators."""

from collections.abc import Iterator

import pytest

from tests.server.nodes import Node, some_nodes


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    with some_nodes(tmp_path_factory.mktemp("cluster") / "nodes", 2) as two:
        for node in two:
            node.start()
        for node in two:
            node.wait_ready()
        yield two
