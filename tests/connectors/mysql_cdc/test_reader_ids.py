"""Readers of the log need no server id, so no replica or other job can have the same one."""

from contextlib import ExitStack, closing
from itertools import chain
from typing import Any

import pytest

from seatunnel_core.connectors.mysql_cdc.log_stream import log_stream
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]


def test_readers_that_read_at_the_same_time_do_not_end_each_other(server: Any) -> None:
    """The server ends the older one of two readers with the same id."""
    server.run("CREATE TABLE t (id int PRIMARY KEY, a longblob)")
    own = DrivenSource(cdc_options(server, "t")).source._server
    start = own.position(own.state())
    server.run(*(f"INSERT INTO t VALUES ({number}, REPEAT('x', 500000))" for number in range(16)))
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(log_stream(own, start))).events() for _ in range(3)]
        begun = [next(events) for events in streams]
        sizes = [
            sum(1 for each in chain([first], events) if each) for first, events in zip(begun, streams, strict=True)
        ]
    assert min(sizes) > 16
    assert len(set(sizes)) == 1
