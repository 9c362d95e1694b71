"""Tables that a restored job does not create again: what its pipelines know of each other's rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.claiming.claim import Claim, claim_again, claim_new
from seatunnel_core.claiming.published_tables import published_tables
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.sink_context import SinkContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.connectors.duckdb.sink import DuckDBSink
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.staging.lost_table import require_same_table
from seatunnel_core.job.restoring import Restore
from seatunnel_core.planning.plan import PlannedSink
from seatunnel_core.runtime.job_tables import JobTables
from seatunnel_core.work.committable import Committable
from seatunnel_storage_api.state import CheckpointRef
from tests.claiming.tables import FIRST, JOB, Played, at

ORDERS = {"main.orders": ""}
STAGED = Committable(
    id=f"0-{FIRST}-1", epoch=FIRST, unit=1, source="a", rows=1, bytes=1, body={}, tables={"main.staged": ""}
)


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


def text(played: Played, *, names: str = "ab", tables: Mapping[str, str] | None = None, of_a: str = "shop") -> str:
    where = {name: (tables or {}).get(name, "orders") for name in names}
    sinks = "".join(
        f"DuckDB {{ plugin_input = {name}, name = {name}_out, "
        f'path = "{played.folder}/{of_a if name == "a" else "shop"}.duckdb", table = {table} }}\n'
        for name, table in where.items()
    )
    sources = played.text(*names).split("source", 1)[1].split("sink {", 1)[0]
    return f"env {{ job.name = tables }}\nsource{sources}\nsink {{ {sinks} }}"


def begun(played: Played, given: str) -> None:
    claim = claim_new(played.storage, JOB, played.planner(given))
    for pipeline in claim.job.pipelines:
        played.storage.acquire_epoch(JOB, pipeline.id, FIRST)


def stored(
    played: Played,
    checkpoint_id: int,
    tables: Mapping[str, str],
    *,
    table: str = "a",
    pipeline: int = 1,
    waiting: tuple[Committable, ...] = (),
) -> CheckpointRef:
    ref = played.store(checkpoint_id, 1, table=table, pipeline=pipeline)
    info = next(each for each in played.storage.list_checkpoints(JOB, pipeline) if each.ref == ref)
    state = played.storage.load(info)
    assert state is not None
    states = codec.decode(state.states)
    sink = evolve(states.sinks[f"{table}_out"], published_to=tables, uncommitted=waiting)
    played.storage.delete_checkpoints(JOB, pipeline, [ref])
    named = evolve(states, sinks={f"{table}_out": sink})
    played.storage.store_checkpoint(evolve(state, states=codec.encode(named)))
    return ref


def found(played: Played, given: str, restore: Restore | None = None) -> frozenset[str] | None:
    claim = claim_again(played.storage, JOB, played.planner(given), restore or Restore())
    assert isinstance(claim, Claim)
    assert len(claim.published) < 2
    return next(iter(claim.published.values()), None)


def test_tables_of_all_pipelines_with_one_target(played: Played) -> None:
    begun(played, text(played))
    stored(played, 1, ORDERS, waiting=(STAGED,))
    stored(played, 1, {"main.other": ""}, table="b", pipeline=2)
    assert found(played, text(played)) == {"main.orders", "main.staged", "main.other"}


def test_a_pipeline_that_never_ran_learns_the_tables_of_others(played: Played) -> None:
    begun(played, text(played))
    stored(played, 1, ORDERS)
    assert found(played, text(played)) == {"main.orders"}


def test_nothing_is_read_for_targets_that_are_not_shared(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = text(played, tables={"b": "others"})
    begun(played, apart)
    stored(played, 1, ORDERS)
    monkeypatch.setattr(played.storage, "load", lambda info: pytest.fail(f"{info} was read"))
    assert found(played, apart) is None


def test_only_tables_of_shared_targets_are_told(played: Played) -> None:
    three = text(played, names="abc", tables={"c": "others"})
    begun(played, three)
    stored(played, 1, ORDERS)
    stored(played, 1, {"main.others": ""}, table="c", pipeline=3)
    assert found(played, three) == {"main.orders"}


def test_a_pipeline_that_goes_back_knows_only_what_its_checkpoint_knows(played: Played) -> None:
    """It reads the rows again, so it may create the table again."""
    begun(played, text(played))
    first = stored(played, 1, {})
    stored(played, 2, ORDERS)
    back = at(f"1:{first}", accept_duplicates=True)
    assert not found(played, text(played), back)


def test_tables_of_an_earlier_target_are_left_out(played: Played) -> None:
    begun(played, text(played, of_a="former"))
    stored(played, 1, ORDERS)
    assert not found(played, text(played))


def test_a_checkpoint_that_cannot_be_read_is_left_to_its_pipeline(played: Played) -> None:
    begun(played, text(played))
    stored(played, 1, ORDERS)
    stored(played, 1, {"main.other": ""}, table="b", pipeline=2)
    for key in [key for key in played.storage.blobs if "/000001/" in key and key.endswith(".ckpt")]:
        played.storage.blobs[key] = played.storage.blobs[key][:-1]
    assert found(played, text(played)) == {"main.other"}


def test_a_checkpoint_that_does_not_fit_is_left_to_its_pipeline(played: Played) -> None:
    planned = played.planner(text(played))(None)
    begun(played, text(played))
    stored(played, 1, ORDERS)
    asked = {1: RestoreRequest(ref=CheckpointRef(FIRST, 7))}
    assert published_tables(played.storage, JOB, planned.pipelines, asked) == {}


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


def test_a_sink_that_only_removes_rows_shares_nothing(tmp_path: Any) -> None:
    """It names a table that does not exist yet, and that another sink creates."""
    path = f"{tmp_path}/shop.duckdb"
    keys = planned("keys", path=path, table="orders", write_mode="prune")
    tables = JobTables()
    tables.add(keys, ["main.orders"])
    assert tables.of(planned("new", path=path, table="orders")) == set()


@pytest.mark.parametrize("other", [{"user": "shop"}, {"url": "jdbc:postgresql://db/shop?currentSchema=two"}])
def test_equal_names_with_another_search_path_are_different_tables(other: Mapping[str, str]) -> None:
    one = {"url": "jdbc:postgresql://db/shop?currentSchema=one", "user": "app", "table": "orders"}
    tables = JobTables()
    tables.add(planned("one", JdbcSink, generate_sink_sql=True, **one), ["orders"])
    assert tables.of(planned("same", JdbcSink, generate_sink_sql=True, **one)) == {"orders"}
    assert tables.of(planned("other", JdbcSink, generate_sink_sql=True, **{**one, **other})) == set()


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
