"""``write_mode = prune`` of the sink ``DuckDB``: rows go whose key did not come, and no others."""

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing import stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing, code_of
from seatunnel_core.connectors.duckdb.sink import DuckDBSink
from seatunnel_core.errors import RowError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink

PRUNE = {"write_mode": "prune"}
KEYS = TableSchema(table="shop.keys", columns=pa.schema([("ID", pa.int32())]))
ORDERS = (
    "CREATE TABLE orders (id BIGINT, n VARCHAR NOT NULL)",
    "INSERT INTO orders VALUES (1, 'a'), (2, 'b'), (3, 'c'), (NULL, 'nobody')",
)


def run(folder: Path, *units: list[int | None], schema: TableSchema = KEYS, end: bool = True) -> DuckDBSink:
    sink, here = duckdb_sink(folder, **PRUNE), sink_place(place())
    sink.prepare(here)
    sink.create_tables((schema,), here)
    for number, values in enumerate(units, 1):
        rows = pa.RecordBatch.from_arrays([pa.array(values, schema.columns.types[0])], schema=schema.columns)
        sink.commit([stage(sink, schema, [rows], place(unit=number))], here, may_be_committed=False)
    if end:
        sink.complete(here)
        sink.sweep(here, frozenset(), final=True)
        sink.clear(here)
    return sink


def left(folder: Path) -> list[str]:
    return sorted(name for (name,) in asked(folder, "SELECT n FROM orders"))


def test_rows_go_whose_key_did_not_come_when_all_have_come(tmp_path: Path, caplog: Any) -> None:
    changed(tmp_path, *ORDERS)
    caplog.set_level(logging.WARNING)
    sink = run(tmp_path, [1, 1], [3, 9], end=False)
    assert left(tmp_path) == ["a", "b", "c", "nobody"]
    for _ in range(2):  # killed before it was recorded, it is called again
        sink.complete(sink_place(place()))
        assert left(tmp_path) == ["a", "c", "nobody"], "null is no key, and stays"
    assert caplog.messages == [
        "the sink DuckDB: deleted 1 row from the table main.orders, because its key was not in this run"
    ]
    sink.clear(sink_place(place()))
    assert asked(tmp_path, "SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'seatunnel'") == [(0,)]


def test_keys_that_are_lost_are_an_error_and_remove_no_row(tmp_path: Path) -> None:
    """Their table was created again, and rows were removed whose keys had come before."""
    changed(tmp_path, *ORDERS)
    sink = run(tmp_path, [1, 2], end=False)
    done = stage(sink, KEYS, [pa.record_batch([pa.array([3], pa.int32())], schema=KEYS.columns)], place(unit=2))
    ((name,),) = asked(tmp_path, "SELECT rows FROM seatunnel.replacing")
    changed(tmp_path, f'DROP TABLE seatunnel."{name}"')
    here = evolve(sink_place(place(epoch=2)), prepared_in=1, published_to=done.tables)
    resumed = duckdb_sink(tmp_path, **PRUNE)
    resumed.prepare(here)
    for _ in range(2):
        with pytest.raises(SinkError, match="which collects the rows for orders, does not exist, but this job has"):
            resumed.create_tables((KEYS,), here)
    assert left(tmp_path) == ["a", "b", "c", "nobody"]


def test_a_key_that_is_null_is_refused_where_it_stands(tmp_path: Path) -> None:
    changed(tmp_path, *ORDERS)
    with pytest.raises(RowError, match=r"column 'ID', row 2 of a batch of shop.keys: the value is null"):
        run(tmp_path, [1, None])


def test_a_table_that_would_lose_every_row_is_left_alone(tmp_path: Path) -> None:
    changed(tmp_path, *ORDERS)
    with pytest.raises(
        SinkError,
        match=r"prune would remove every row of main.orders, because the table contains none of the keys \(ID\)",
    ):
        run(tmp_path, [77])
    assert len(left(tmp_path)) == 4


def test_a_table_that_is_not_there_or_empty_loses_nothing(tmp_path: Path) -> None:
    run(tmp_path, [1])
    changed(tmp_path, ORDERS[0])
    run(tmp_path, [1])
    assert left(tmp_path) == []


def test_a_column_that_the_table_lacks_is_refused_before_a_row_moves(tmp_path: Path) -> None:
    changed(tmp_path, *ORDERS)
    schema = TableSchema(table="shop.keys", columns=pa.schema([("idd", pa.int64())]))
    with pytest.raises(SinkError, match=r"a column 'idd', which the table main.orders lacks; did you mean"):
        run(tmp_path, [1], schema=schema)


def test_a_replaced_engine_removes_nothing(tmp_path: Path) -> None:
    changed(tmp_path, *ORDERS)
    sink = run(tmp_path, [1], end=False)
    duckdb_sink(tmp_path, **PRUNE).prepare(sink_place(place(epoch=2)))
    with pytest.raises(SinkError, match="another engine has taken over this job"):
        sink.complete(sink_place(place()))
    assert len(left(tmp_path)) == 4


@pytest.mark.parametrize("options", [{"merge_key": "id"}, {"keep_history": True}, {"data_save_mode": "DROP_DATA"}])
def test_options_that_contradict_it(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="prune"):
        duckdb_sink(tmp_path, **PRUNE, **options)


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_prune_that_is_killed_between_any_two_lines_has_removed_all_or_nothing(tmp_path: Path) -> None:
    moment, here, later = 1, sink_place(place()), sink_place(place(epoch=2))
    places: set[str] = set()
    while True:
        folder = tmp_path / str(moment)
        folder.mkdir()
        changed(folder, *ORDERS)
        run(folder, [1, 3], end=False)
        with Killing(code_of(DuckDBSink, Sink), moment) as killing:
            duckdb_sink(folder, **PRUNE).complete(here)
        assert left(folder) in (["a", "b", "c", "nobody"], ["a", "c", "nobody"]), killing.place
        again = duckdb_sink(folder, **PRUNE)
        again.prepare(later)
        again.complete(later)
        assert left(folder) == ["a", "c", "nobody"], killing.place
        if killing.place is None:
            break
        places.add(killing.place)
        moment += 40
    assert len(places) >= 2
