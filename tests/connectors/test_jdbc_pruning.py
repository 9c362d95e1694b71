"""``write_mode = prune`` of the sink ``Jdbc`` on each database: rows go whose key did not come, and no others."""

import gc
import logging
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing import options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing
from seatunnel_core.connectors.jdbc import publishing
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.tables import ledger, replacement
from seatunnel_core.errors import RowError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database, empty

KEYS = TableSchema(table="shop.keys", columns=pa.schema([("id", pa.int64())]))
PEOPLE = (
    "CREATE TABLE people (id bigint, name varchar(20))",
    "INSERT INTO people VALUES (1, 'a'), (2, 'b'), (3, 'c'), (NULL, 'nobody')",
)


def sink(database: Database, **options: Any) -> JdbcSink:
    given = {**database.options, "table": "people", "write_mode": "prune", **options}
    return JdbcSink(options_of(JdbcSink, given))


def keys(*values: Any, schema: TableSchema = KEYS) -> pa.RecordBatch:
    given = [value if isinstance(value, tuple) else (value,) for value in values]
    rows = [dict(zip(schema.columns.names, row, strict=True)) for row in given]
    return pa.RecordBatch.from_pylist(rows, schema.columns)


def run(
    database: Database, *units: pa.RecordBatch, schema: TableSchema = KEYS, end: bool = True, **options: Any
) -> JdbcSink:
    of, here = sink(database, **options), place()
    of.prepare(sink_place(here))
    of.create_tables((schema,), sink_place(here))
    staged = [stage(of, schema, [rows], place(unit=number)) for number, rows in enumerate(units, 1)]
    of.commit(staged, sink_place(here), may_be_committed=False)
    if end:
        of.complete(sink_place(here))
        of.sweep(sink_place(here), frozenset(), final=True)
        of.clear(sink_place(here))
    return of


def names(database: Database) -> list[str]:
    return sorted(name for (name,) in database.run("SELECT name FROM people"))


def test_keys_that_are_lost_are_an_error_and_remove_no_row(database: Database) -> None:
    """Their table was created again, and rows were removed whose keys had come before."""
    database.run(*PEOPLE)
    of = run(database, keys(1, 2), end=False)
    done = stage(of, KEYS, [keys(3)], place(unit=2))
    of.commit([done], sink_place(place()), may_be_committed=False)
    (name,) = {row[0] for row in database.run("SELECT collected FROM seatunnel_replacing")}
    del of
    gc.collect()
    database.run(f"DROP TABLE {name}")
    here = evolve(sink_place(place(epoch=2)), prepared_in=1, published_to=done.tables)
    resumed = sink(database)
    resumed.prepare(here)
    for _ in range(2):
        with pytest.raises(SinkError, match="which collects the rows for people, does not exist, but this job has"):
            resumed.create_tables((KEYS,), here)
    assert names(database) == ["a", "b", "c", "nobody"]


def test_rows_go_whose_key_did_not_come_when_all_have_come(database: Database, caplog: Any) -> None:
    database.run(*PEOPLE)
    caplog.set_level(logging.WARNING)
    of = run(database, keys(1, 1), keys(3, 9), end=False)
    assert names(database) == ["a", "b", "c", "nobody"]
    for _ in range(2):  # killed before it was recorded, it is called again
        of.complete(sink_place(place()))
        assert names(database) == ["a", "c", "nobody"], "null is no key, and stays"
    (told,) = caplog.messages
    assert re.fullmatch(
        r"the sink Jdbc: deleted 1 row from the table (\w+\.)?people, because its key was not in this run", told
    )
    of.clear(sink_place(place()))
    if database.kind == "sqlite":
        assert database.run("SELECT name FROM sqlite_master WHERE name LIKE '%_new_%'") == []
    else:
        assert database.staged() == []


def test_a_key_of_two_columns(database: Database) -> None:
    database.run(
        "CREATE TABLE people (id bigint, day varchar(9), name varchar(20))",
        "INSERT INTO people VALUES (1, 'mo', 'a'), (1, 'tu', 'b'), (2, 'mo', 'c')",
    )
    schema = TableSchema(table="k", columns=pa.schema([("day", pa.string()), ("id", pa.int32())]))
    run(database, keys(("mo", 1), ("mo", 2), schema=schema), schema=schema)
    assert names(database) == ["a", "c"]


def test_a_key_that_is_null_is_refused_where_it_stands(database: Database) -> None:
    database.run(*PEOPLE)
    with pytest.raises(RowError, match=r"column 'id', row 2 of a batch of shop.keys: the value is null"):
        run(database, keys(1, None))


NAMES = TableSchema(table="shop.keys", columns=pa.schema([("name", pa.string())]))


@pytest.mark.parametrize(("declared", "left"), [("bin", ["A", "a"]), ("ci", ["b"])])
def test_texts_are_the_same_as_in_the_table(declared: str, left: list[str], database: Database) -> None:
    """``a`` is no ``A`` in one table, and is in the other: neither loses a row that its source has."""
    collated = {
        "mysql": f" COLLATE utf8mb4_{'general_ci' if declared == 'ci' else 'bin'}",
        "sqlite": f" COLLATE {'NOCASE' if declared == 'ci' else 'BINARY'}",
    }.get(database.kind, "")
    if declared == "ci" and not collated:
        left = ["B"]
    database.run(f"CREATE TABLE people (id bigint, name varchar(20){collated})")
    there = ["a", "A", "gone"] if declared == "bin" else [left[0], "gone"]
    database.run(f"INSERT INTO people VALUES {', '.join(f'(1, {chr(39)}{each}{chr(39)})' for each in there)}")
    run(database, keys(*(["a", "A"] if declared == "bin" else ["B"]), schema=NAMES), schema=NAMES)
    assert sorted(names(database)) == left


def test_many_keys_are_compared_by_an_index(database: Database) -> None:
    """Without one, SQLite took 14 s for 20,000 rows, and it would take a minute for these."""
    database.run(PEOPLE[0])
    given = ", ".join(f"({number}, '{number}')" for number in range(40_000))
    database.run(f"INSERT INTO people VALUES {given}")
    began = time.monotonic()
    run(database, keys(*range(0, 40_000, 2)), keys(*range(0, 40_000, 4)))
    assert len(names(database)) == 20_000
    assert time.monotonic() - began < 20


def test_a_table_that_would_lose_every_row_is_left_alone(database: Database) -> None:
    database.run(*PEOPLE)
    with pytest.raises(
        SinkError, match=r"prune would remove every row of .*people, because the table contains none of the keys \(id\)"
    ):
        run(database, keys(77))
    assert len(names(database)) == 4


def test_a_table_that_is_not_there_or_empty_loses_nothing(database: Database) -> None:
    run(database, keys(1))
    database.run(PEOPLE[0])
    run(database, keys(1))
    assert names(database) == []


def test_a_column_that_the_table_lacks_is_refused_before_a_row_moves(database: Database) -> None:
    database.run(*PEOPLE)
    schema = TableSchema(table="shop.keys", columns=pa.schema([("idd", pa.int64())]))
    with pytest.raises(SinkError, match=r"shop.keys have a column 'idd', which the table .*people lacks; did you mean"):
        run(database, keys(1, schema=schema), schema=schema)


def test_two_sinks_that_prune_one_table_are_refused(database: Database) -> None:
    database.run(*PEOPLE)
    run(database, keys(1), end=False)
    other, here = sink(database), sink_place(place(pipeline_id=2))
    other.prepare(here)
    with pytest.raises(
        SinkError, match=r"another sink of this job replaces the table .*people, or also removes rows from it"
    ):
        other.create_tables((KEYS,), here)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"data_save_mode": "DROP_DATA"}, "'data_save_mode'.*write_mode = prune keeps existing rows"),
        ({"merge_key": "id"}, "'merge_key'.*requires write_mode = merge, found prune"),
        ({"primary_keys": "id"}, "'primary_keys'.*all columns of the rows are key columns"),
        ({"is_exactly_once": False}, "'is_exactly_once'"),
    ],
)
def test_options_that_contradict_it(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        sink(empty("sqlite", tmp_path), **options)


@pytest.mark.torture
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # connections of what was killed
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_prune_that_is_killed_between_any_two_lines_has_removed_all_or_nothing(tmp_path: Path) -> None:
    here, later = sink_place(place()), sink_place(place(epoch=2))
    places: set[str] = set()
    moment = 1
    while True:
        folder = tmp_path / str(moment)
        folder.mkdir()
        database = empty("sqlite", folder)
        database.run(*PEOPLE)
        of = run(database, keys(1, 3), end=False)
        files: Sequence[Path] = [Path(str(each.__file__)) for each in (ledger, publishing, replacement)]
        with Killing(files, moment) as killing:
            of.complete(here)
        del of
        gc.collect()
        forget()
        assert names(database) in (["a", "b", "c", "nobody"], ["a", "c", "nobody"]), killing.place
        again = sink(database)
        again.prepare(later)
        again.complete(later)
        assert names(database) == ["a", "c", "nobody"], killing.place
        forget()
        if killing.place is None:
            break
        places.add(killing.place)
        moment += 7
    assert len(places) >= 4
