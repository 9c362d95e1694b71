"""Partitions that a sink replaces, where its source reads only what is new."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.duckdb.sink import DuckDBSink
from seatunnel_core.connectors.http.source import HttpSource
from seatunnel_core.errors import UsageError
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink, PlannedSource
from seatunnel_core.planning.rules import refuse_lost_increments


def problems_of(folder: Path, key: list[str], **sink: Any) -> str:
    fields = {"day": "date", "id": "bigint", "at": "timestamp_tz"}
    source = HttpSource(
        options_of(
            HttpSource,
            {
                "url": "http://localhost/rows",
                "schema": {"fields": fields},
                "incremental": {"column": "at", "key": key},
            },
        )
    )
    target = {"path": str(folder / "shop.duckdb"), "table": "t", "write_mode": "replace", **sink}
    pipeline = PlannedPipeline(
        id=1,
        sources=(PlannedSource(name="rows", ordinal=0, source=source, parallelism=1),),
        transforms=(),
        sinks=(PlannedSink(name="t", ordinal=0, sink=DuckDBSink(options_of(DuckDBSink, target)), inputs=("rows",)),),
    )
    found = Problems()
    refuse_lost_increments((pipeline,), found)
    return "; ".join(problem.message for problem in found.found)


@pytest.mark.parametrize(
    ("key", "partitions", "more"),
    [
        (["id"], ["id"], {}),
        (["day", "id"], ["id", "day"], {}),
        (["id"], ["day"], {"partitions_arrive_complete": True}),
    ],
)
def test_partitions_that_arrive_as_a_whole_are_replaced(
    tmp_path: Path, key: list[str], partitions: list[str], more: Any
) -> None:
    """Every replace was rejected behind an increment, also that of single partitions."""
    assert not problems_of(tmp_path, key, replace_partitions=partitions, **more)


@pytest.mark.parametrize(("key", "partitions"), [(["id"], ["day"]), (["day", "id"], ["day"]), (["id"], ["id", "day"])])
def test_partitions_that_may_arrive_in_part_are_rejected(tmp_path: Path, key: list[str], partitions: list[str]) -> None:
    found = problems_of(tmp_path, key, replace_partitions=partitions)
    assert "the other rows of the partition would be lost" in found
    assert f"replace_partitions = [{', '.join(key)}]" in found


def test_all_rows_are_never_replaced_by_an_increment(tmp_path: Path) -> None:
    assert "only the last increment would remain" in problems_of(tmp_path, ["id"])
    with pytest.raises(UsageError, match="requires replace_partitions"):
        problems_of(tmp_path, ["id"], partitions_arrive_complete=True)
