"""Ordering keys of the sources of changes: chunks may be written in parallel, and a range of the log with nothing."""

from typing import Any

import pytest

from seatunnel_core.connectors.mysql_cdc import splits as of_mysql
from seatunnel_core.connectors.mysql_cdc.progress import Progress, WindowChunk
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.postgres_cdc import splits as of_postgres
from seatunnel_core.connectors.postgres_cdc.range_reading import LogRange
from seatunnel_core.connectors.postgres_log.lsn import Lsn

PIECE: dict[str, Any] = {"table": "shop.t", "column": "id", "order": "", "low": None, "high": None}


def test_chunks_of_mysql_have_keys_and_ranges_have_none() -> None:
    chunks = [{"chunk": number, "log": "bin.000001:4", "rows": 10, **PIECE} for number in (3, 4)]
    again = {"chunk": 0, "log": "bin.000001:9", "rows": 10, "reread": True, **PIECE}
    wanted = {"from": "bin.000001:4", "to": "bin.000001:9", "tables": ["shop.t"]}
    splits = [of_mysql.split_of(*each) for each in enumerate((*chunks, wanted, again))]
    assert [split.ordering_key for split in splits] == ["chunk 3", "chunk 4", None, "chunk 0"]


def test_chunks_of_postgres_have_keys_and_ranges_have_none() -> None:
    chunks = [{"chunk": {"number": number, **PIECE}, "rows": 10} for number in (3, 4)]
    wanted = LogRange(start=Lsn(1), end=Lsn(9), confirm=Lsn(1), tables=(), oids=(), marks=(), job="")
    splits = [of_postgres.split_of(*each) for each in enumerate((*chunks, wanted.body()))]
    assert [split.ordering_key for split in splits] == ["chunk 3", "chunk 4", None]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_marks_of_chunks_may_arrive_in_any_order(order: tuple[int, ...]) -> None:
    """Results of chunks overtake each other if a sink writes directly."""
    window = tuple(WindowChunk(number=number, table=0, order="", low=None, high=None) for number in (0, 1))
    progress = Progress(server="s", log=LogPosition("bin.000001", 4), window=window)
    for number in order:
        assert not progress.is_window_read
        progress = progress.with_fact({"chunk": number, "mark": f"bin.000001:{10 + number}"})
    assert [chunk.mark for chunk in progress.window] == [LogPosition("bin.000001", 10 + number) for number in (0, 1)]
