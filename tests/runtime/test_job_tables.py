"""Tables that one pipeline has filled, and that no other pipeline of the process creates again."""

from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.sink_context import SinkContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.connectors.duckdb.sink import DuckDBSink
from seatunnel_core.connectors.staging.lost_table import require_same_table
from seatunnel_core.planning.plan import PlannedSink
from seatunnel_core.runtime.job_tables import JobTables


def planned(name: str, kind: Any = DuckDBSink, **options: Any) -> PlannedSink:
    return PlannedSink(name=name, ordinal=0, sink=kind(options_of(kind, options)), inputs=("in",))


def test_sinks_with_one_target_share_what_they_know(tmp_path: Any) -> None:
    path = f"{tmp_path}/shop.duckdb"
    one, other = planned("one", path=path, table="orders"), planned("other", path=path, table="orders")
    elsewhere = planned("elsewhere", path=f"{tmp_path}/other.duckdb", table="orders")
    tables = JobTables()
    tables.add(one, ())
    assert tables.of(other) == set()
    tables.add(one, {"main.orders": ""})
    tables.add(other, {"main.more": ""})
    assert tables.of(one) == tables.of(other) == {"main.orders", "main.more"}
    assert tables.of(elsewhere) == set()


def test_a_sink_without_a_known_target_shares_nothing() -> None:
    tables, sink = JobTables(), planned("out", ConsoleSink)
    tables.add(sink, ["t"])
    assert tables.of(sink) == set()


def test_a_table_with_rows_of_the_job_may_exist_but_not_be_missing() -> None:
    context = SinkContext(job_id="job", pipeline_id=1, sink_ordinal=0, epoch=1, published_by_job=frozenset({"t"}))
    require_same_table(context, "who", "t", "")
    require_same_table(context, "who", "t", "other-identity")
    require_same_table(context, "who", "u", None)
    with pytest.raises(SinkError, match="the table t does not exist, but this job has committed rows to it"):
        require_same_table(context, "who", "t", None)
