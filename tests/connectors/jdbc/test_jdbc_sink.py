"""The sink ``Jdbc`` on SQLite: what does not need a server."""

import gc
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connectors.jdbc import publishing, staging
from seatunnel_core.connectors.jdbc.databases import sqlite
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.sink import Guarantee, Sink
from seatunnel_core.connectors.testing import SinkConformance, options_of
from seatunnel_core.connectors.testing.drive import begin, commit, place, sink_place, stage
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.work.committable import Committable

NEW, BEFORE, AFTER, GONE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
SCHEMA = TableSchema(table="shop.people", columns=COLUMNS)
EXACT = {"generate_sink_sql": True, "is_exactly_once": True}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    forget()
    return tmp_path / "target.db"


def ask(file: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(statement).fetchall()


def run(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def sink(file: Path, **options: Any) -> JdbcSink:
    return JdbcSink(options_of(JdbcSink, {"url": f"jdbc:sqlite:{file}", **options}))


def batch(*rows: tuple[Any, ...], schema: TableSchema = SCHEMA) -> Batch:
    """Rows, each with its kind in front."""
    kinds, values = [int(row[0]) for row in rows], [row[1:] for row in rows]
    columns = [pa.array([row[number] for row in values], column.type) for number, column in enumerate(schema.columns)]
    return Batch(
        table=schema.table,
        rows=pa.RecordBatch.from_arrays(columns, schema=schema.columns),
        kinds=pa.array(kinds, pa.int8()),
    )


def write(of: Sink, *batches: Batch, schema: TableSchema = SCHEMA, epoch: int = 1, unit: int = 1) -> None:
    """One unit from its first row to its commit."""
    here = place(epoch=epoch, unit=unit)
    of.prepare(sink_place(here))
    writer = begin(of, schema, here)
    for each in batches:
        writer.write(each)
    committable = stage_of(writer.finish(), epoch, unit)
    commit(of, [committable], here)


def stage_of(staged: Any, epoch: int = 1, unit: int = 1) -> Any:
    from seatunnel_core.work.committable import Committable

    return Committable(
        id=f"0-{epoch}-{unit}",
        epoch=epoch,
        unit=unit,
        source="source",
        rows=staged.rows,
        bytes=staged.bytes,
        body=staged.body,
    )


class TestJdbcSink(SinkConformance):
    sink_class = JdbcSink
    kills = 12

    @pytest.fixture(autouse=True)
    def database(self, file: Path) -> None:
        self.file = file

    def sink(self) -> Sink:
        """Of a process of its own: what a dead one had open is closed, and locks nothing any more."""
        gc.collect()
        forget()
        return super().sink()

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def elsewhere(self) -> Mapping[str, Any]:
        return {**self.options(), "url": f"jdbc:sqlite:{self.file}2"}

    def options(self) -> Mapping[str, Any]:
        return {"url": f"jdbc:sqlite:{self.file}", "table": "people", **EXACT}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        try:
            return [{"id": number} for (number,) in ask(self.file, "SELECT id FROM people")]
        except sqlite3.OperationalError:
            return []

    def staged(self) -> int:
        gc.collect()
        return len(ask(self.file, "SELECT name FROM sqlite_master WHERE name LIKE 'seatunnel_%_o%_e%'"))


def test_an_engine_that_was_replaced_commits_nothing(file: Path) -> None:
    old, new = sink(file, table="people", **EXACT), sink(file, table="people", **EXACT)
    here = place(epoch=1)
    old.prepare(sink_place(here))
    committable = stage(old, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    late = begin(old, SCHEMA, place(epoch=1, unit=2))
    late.write(batch((NEW, 2, "b")))
    new.prepare(sink_place(place(epoch=2)))
    with pytest.raises(CommitError, match="another engine goes on with this job: its epoch is 2, and this one has 1"):
        commit(old, [committable], here)
    with pytest.raises(SinkError, match="another engine goes on with this job"):
        late.finish()
    late.abort()
    with pytest.raises(SinkError, match="another engine goes on with this job"):
        old.prepare(sink_place(here))
    assert ask(file, "SELECT * FROM people") == []


def test_a_replaced_engine_that_wakes_before_its_save_mode_empties_nothing(file: Path) -> None:
    """R4: the save mode acts under the pipeline's row."""
    run(file, "CREATE TABLE people (id INTEGER, name TEXT)")
    how = {"table": "people", "data_save_mode": "DROP_DATA", **EXACT}
    old, new = sink(file, **how), sink(file, **how)
    for each, epoch in ((old, 1), (new, 2)):
        each.prepare(sink_place(place(epoch=epoch)))
        each.apply_save_mode(sink_place(place(epoch=epoch)))
    committable = stage(new, SCHEMA, [batch((NEW, 1, "a")).rows], place(epoch=2))
    commit(new, [committable], place(epoch=2))
    with pytest.raises(SinkError, match="another engine goes on with this job: its epoch is 2, and this one has 1"):
        old.create_tables((SCHEMA,), sink_place(place(epoch=1)))
    assert ask(file, "SELECT * FROM people") == [(1, "a")]


def test_what_was_dropped_by_somebody_is_no_success(file: Path) -> None:
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    run(file, f"DROP TABLE {committable.body['tables'][0]['staging']}")
    with pytest.raises(CommitError, match="was staged and is gone"):
        commit(of, [committable], here, again=True)


def test_a_committable_of_somebody_else_is_refused(file: Path) -> None:
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    committable.body["tables"][0]["staging"] = "people"
    with pytest.raises(CommitError, match="'people' is no table that it staged"):
        commit(of, [committable], here)


def test_ids_are_kept_until_no_checkpoint_names_them_and_until_the_job_has_ended(file: Path) -> None:
    of = sink(file, table="people", **EXACT)
    write(of, batch((NEW, 1, "a")), unit=1)
    write(of, batch((NEW, 2, "a")), unit=2)
    later = sink_place(place(epoch=2))
    of.prepare(later)
    of.sweep(later, frozenset({"0-1-2"}), final=False)
    assert ask(file, f"SELECT committable FROM {staging.COMMITS}") == [("0-1-2",)]
    of.sweep(later, frozenset(), final=True)
    assert len(ask(file, f"SELECT * FROM {staging.COMMITS}")) == 1
    of.clear(later)
    assert ask(file, f"SELECT * FROM {staging.COMMITS}") == ask(file, f"SELECT * FROM {staging.PIPELINES}") == []


def test_a_start_forgets_no_commit_of_its_own(file: Path) -> None:
    of = sink(file, table="people", **EXACT)
    write(of, batch((NEW, 1, "a")), unit=1)
    of.sweep(sink_place(place()), frozenset(), final=False)
    assert ask(file, f"SELECT committable FROM {staging.COMMITS}") == [("0-1-1",)]


def test_each_of_many_committables_is_known_as_committed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked for in several statements."""
    monkeypatch.setattr(publishing, "_IDS", 2)
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    units = [stage(of, SCHEMA, [batch((NEW, unit, "a")).rows], place(unit=unit)) for unit in range(1, 6)]
    commit(of, units, here)
    commit(of, units, here, again=True)
    assert ask(file, "SELECT id FROM people ORDER BY id") == [(unit,) for unit in range(1, 6)]
    later = sink_place(place(epoch=2))
    of.prepare(later)
    of.sweep(later, frozenset({"0-1-5"}), final=False)
    assert ask(file, f"SELECT committable FROM {staging.COMMITS}") == [("0-1-5",)]


def test_a_commit_whose_answer_was_lost_is_not_made_twice(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database had committed when the connection broke: the sink tries again by itself."""
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    made, calls = publishing.Publishing.commit, []

    def lost(self: publishing.Publishing, committables: Sequence[Committable], *, again: bool) -> None:
        made(self, committables, again=again)
        calls.append(again)
        if len(calls) == 1:
            raise CommitError("the connection was lost", retryable=True)  # as the pool of connections says it

    monkeypatch.setattr(publishing.Publishing, "commit", lost)
    commit(of, [committable], here)
    assert calls == [False, True]
    assert ask(file, "SELECT * FROM people") == [(1, "a")]


KEYED = {"table": "people", "primary_keys": ["id"]}
CHANGES: list[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = [
    ([(NEW, 1, "new"), (NEW, 3, "c")], [(1, "new"), (2, "b"), (3, "c")]),
    ([(BEFORE, 1, "a"), (AFTER, 1, "aa"), (AFTER, 1, "aaa")], [(1, "aaa"), (2, "b")]),
    ([(GONE, 1, None), (GONE, 9, None)], [(2, "b")]),
    ([(NEW, 3, "c"), (GONE, 3, "c")], [(1, "a"), (2, "b")]),
    ([(GONE, 1, "a"), (NEW, 1, "again")], [(1, "again"), (2, "b")]),
    ([(BEFORE, 1, "a"), (AFTER, 5, "moved")], [(2, "b"), (5, "moved")]),
]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
@pytest.mark.parametrize(("rows", "found"), CHANGES)
def test_rows_are_applied_by_kind_in_their_order(
    file: Path, rows: list[tuple[Any, ...]], found: list[tuple[Any, ...]], key: str, exact: bool
) -> None:
    run(file, f"CREATE TABLE people (id INTEGER {key}, name TEXT)", "INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of = sink(file, generate_sink_sql=True, is_exactly_once=exact, batch_size=1, **KEYED)
    write(of, *(batch(row) for row in rows))
    assert sorted(ask(file, "SELECT * FROM people")) == found


def test_a_row_that_is_there_is_an_error_without_upserts_and_changes_still_find_theirs(file: Path) -> None:
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of = sink(file, enable_upsert=False, **EXACT, **KEYED)
    write(of, batch((AFTER, 1, "x"), (GONE, 2, None), (NEW, 3, "c")))
    assert sorted(ask(file, "SELECT * FROM people")) == [(1, "x"), (3, "c")]
    with pytest.raises(CommitError, match=r"UNIQUE constraint failed: people\.id"):
        write(of, batch((NEW, 1, "y")), unit=2)


def test_changes_without_a_key_are_refused(file: Path) -> None:
    with pytest.raises(RowError, match=r"shop\.people has updated or deleted rows, and people has no key"):
        write(sink(file, table="people", **EXACT), batch((GONE, 1, "a")))


def test_the_key_of_the_rows_is_taken_where_none_is_written(file: Path) -> None:
    schema = TableSchema(table="shop.people", columns=COLUMNS, primary_key=("id",))
    of = sink(file, **EXACT)
    write(of, batch((NEW, 1, "a"), (NEW, 1, "b"), schema=schema), schema=schema)
    assert ask(file, "SELECT * FROM people") == [(1, "b")]
    assert ask(file, "SELECT pk FROM pragma_table_info('people') WHERE name = 'id'") == [(1,)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("INSERT INTO people (name, id) VALUES (upper(:name), :id * 10);", [(10, "A"), (20, "B")]),
        ("insert into people (id, name)\nvalues (?, 'it''s ? (' || ?)", [(1, "it's ? (a"), (2, "it's ? (b")]),
        ("INSERT INTO people VALUES (?, ?) ON CONFLICT (id) DO NOTHING", [(1, "a"), (2, "b")]),
    ],
)
def test_a_statement_takes_the_columns_of_the_rows(file: Path, query: str, found: Any, exact: bool) -> None:
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    write(sink(file, query=query, is_exactly_once=exact), batch((NEW, 1, "a"), (NEW, 2, "b")))
    assert ask(file, "SELECT * FROM people ORDER BY id") == found


@pytest.mark.parametrize("exact", [True, False])
def test_a_statement_beside_generate_sink_sql_is_what_is_used(
    file: Path, caplog: pytest.LogCaptureFixture, exact: bool
) -> None:
    """Such jobs were refused; SeaTunnel takes the statement, and so do people who leave the option in."""
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, more TEXT)")
    of = sink(
        file,
        query="INSERT INTO people (id, name) VALUES (?, ?)",
        generate_sink_sql=True,
        table="other",
        is_exactly_once=exact,
    )
    write(of, batch((NEW, 1, "a")))
    assert ask(file, "SELECT * FROM people") == [(1, "a", None)]
    assert "query stands beside generate_sink_sql = true, and rows go into query alone" in caplog.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("INSERT INTO peple VALUES (?, ?)", "no such table: peple"),
        ("INSERT INTO people (id, nam) VALUES (?, ?)", "no column named nam"),
        ("INSERT INTO people VALUES (?)", "it has 1 ?, and the rows of shop.people have 2 columns (id, name)"),
        ("INSERT INTO people VALUES (:id, :nme)", "no column 'nme'; did you mean name?"),
    ],
)
def test_a_statement_that_cannot_be_is_refused_before_data_moves(file: Path, query: str, said: str) -> None:
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    of = sink(file, query=query)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError) as caught:
        of.create_tables([SCHEMA], sink_place(place()))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "option 'query': it is missing"),
        ({"query": "UPDATE t SET a = ?"}, "not an INSERT"),
        ({"query": "INSERT INTO t VALUES (?), (?)"}, "one list of values"),
        ({"query": "INSERT INTO t VALUES (?, :a)"}, "both ? and :name"),
        ({"generate_sink_sql": True, "data_save_mode": "CUSTOM_PROCESSING"}, "option 'custom_sql'"),
        ({"generate_sink_sql": True, "table": "${nam}"}, "variable that no table has"),
    ],
)
def test_options_that_do_not_go_together(file: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        sink(file, **options)
    assert said in str(caught.value)


def test_what_a_sink_promises_follows_from_its_options(file: Path) -> None:
    assert sink(file, **EXACT).guarantee is Guarantee.EXACTLY_ONCE
    assert sink(file, generate_sink_sql=True).guarantee is Guarantee.AT_LEAST_ONCE
    assert sink(file, generate_sink_sql=True, **KEYED).guarantee is Guarantee.IDEMPOTENT
    assert sink(file, generate_sink_sql=True, enable_upsert=False, **KEYED).guarantee is Guarantee.AT_LEAST_ONCE


OLD = ("CREATE TABLE people (id INTEGER, name TEXT, old TEXT)", "INSERT INTO people VALUES (7, 'x', 'y')")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("modes", "found"),
    [
        ({}, [(7, "x", "y"), (1, "a", None)]),
        ({"data_save_mode": "DROP_DATA"}, [(1, "a", None)]),
        ({"schema_save_mode": "RECREATE_SCHEMA"}, [(1, "a")]),
        (
            {"data_save_mode": "CUSTOM_PROCESSING", "custom_sql": "UPDATE people SET old = 'z'"},
            [(7, "x", "z"), (1, "a", None)],
        ),
        ({"data_save_mode": "ERROR_WHEN_DATA_EXISTS"}, "ERROR_WHEN_DATA_EXISTS"),
    ],
)
def test_save_modes_act_once(file: Path, modes: dict[str, Any], found: Any, exact: bool) -> None:
    run(file, *OLD)
    of, here = sink(file, generate_sink_sql=True, is_exactly_once=exact, table="people", **modes), place()
    of.prepare(sink_place(here))
    of.apply_save_mode(sink_place(here))
    if isinstance(found, str):
        with pytest.raises(SinkError, match=found):
            of.create_tables([SCHEMA], sink_place(here))
        return
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    commit(of, [committable], here)
    of.prepare(sink_place(place(epoch=2)))
    of.create_tables([SCHEMA], sink_place(place(epoch=2)))
    assert ask(file, "SELECT * FROM people") == found


@pytest.mark.parametrize(
    ("made", "schema", "said"),
    [
        ((), SCHEMA, "there is no table people and schema_save_mode is IGNORE"),
        (
            ("CREATE TABLE people (id INTEGER, nme TEXT)",),
            SCHEMA,
            "has no column 'name', which the rows of shop.people",
        ),
        (("CREATE TABLE people (id INTEGER, name BLOB)",), SCHEMA, "does not fit into BLOB of the table people"),
        (("CREATE TABLE people (id INTEGER, name TEXT, x TEXT NOT NULL)",), SCHEMA, "requires a column 'x'"),
        (
            ("CREATE TABLE people (id INTEGER, name TEXT)",),
            TableSchema(table="shop.people", columns=COLUMNS, primary_key=("key",)),
            "key column 'key' is not among",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_they_move(
    file: Path, made: tuple[str, ...], schema: TableSchema, said: str
) -> None:
    run(file, *made)
    keys = {"primary_keys": list(schema.primary_key)} if schema.primary_key else {}
    of = sink(file, generate_sink_sql=True, table="people", schema_save_mode="IGNORE", **keys)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match="pipeline 1, sink Jdbc: ") as caught:
        of.create_tables([schema], sink_place(place()))
    assert said in str(caught.value)


def test_a_type_without_a_column_type_is_named(file: Path) -> None:
    schema = TableSchema(table="people", columns=pa.schema([("tags", pa.list_(pa.string()))]))
    of = sink(file, **EXACT)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"column 'tags' of the table people has the type array<string>, and sqlite"):
        of.create_tables([schema], sink_place(place()))


def test_a_value_that_is_too_large_is_named(file: Path) -> None:
    run(file, "CREATE TABLE people (id DECIMAL(3, 1), name TEXT)")
    schema = TableSchema(table="shop.people", columns=pa.schema([("id", pa.decimal128(9, 2)), ("name", pa.string())]))
    of = sink(file, table="people", **EXACT)
    with pytest.raises(RowError, match=r"column 'id', row 2 of a batch of shop\.people: '1234\.50' does not fit"):
        write(of, batch((NEW, Decimal("1.50"), "a"), (NEW, Decimal("1234.50"), "b"), schema=schema), schema=schema)


def test_names_follow_field_ide_and_the_variables_of_the_table(file: Path) -> None:
    of = sink(file, table="new_${table_name}", field_ide="UPPERCASE", **EXACT)
    write(of, batch((NEW, 1, "a")))
    assert ask(file, "SELECT name FROM pragma_table_info('new_people')") == [("ID",), ("NAME",)]


def test_two_tables_of_one_unit_are_committed_together(file: Path) -> None:
    other = TableSchema(table="shop.goods", columns=pa.schema([("code", pa.string())]))
    of, here = sink(file, **EXACT), place()
    of.prepare(sink_place(here))
    of.create_tables([SCHEMA, other], sink_place(here))
    writer = of.open_writer([SCHEMA, other], here)
    writer.write(batch((NEW, 1, "a")))
    writer.write(batch((NEW, "x"), schema=other))
    writer.write(batch((NEW, 2, "b")))
    staged = writer.finish()
    assert staged.rows == 3
    commit(of, [stage_of(staged)], here)
    assert ask(file, "SELECT * FROM people") == [(1, "a"), (2, "b")]
    assert ask(file, "SELECT * FROM goods") == [("x",)]


@pytest.mark.parametrize("options", [EXACT, {"generate_sink_sql": True}, {**EXACT, "primary_keys": ["id"]}])
def test_no_lock_is_held_while_rows_are_read(
    file: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sinks of a pipeline write into one file, in turns: each would wait for the other's transaction for ever."""
    monkeypatch.setattr(sqlite, "_WAIT_S", 0.1)
    sinks = [sink(file, table=name, batch_size=1, **options) for name in ("one", "other")]
    places = [evolve(place(), sink_ordinal=number) for number in (0, 1)]
    for each, at in zip(sinks, places, strict=True):
        each.prepare(sink_place(at))
    writers = [begin(each, SCHEMA, at) for each, at in zip(sinks, places, strict=True)]
    for number in (1, 2, 3):
        for writer in writers:
            writer.write(batch((NEW, number, "x")))
    for each, writer, at in zip(sinks, writers, places, strict=True):
        commit(each, [stage_of(writer.finish())], at)
    assert [ask(file, f"SELECT id FROM {name} ORDER BY id") for name in ("one", "other")] == [[(1,), (2,), (3,)]] * 2


def test_a_failed_writer_leaves_nothing_of_what_it_has_sent(file: Path) -> None:
    here = place()
    of = sink(file, table="one", batch_size=1, **EXACT)
    of.prepare(sink_place(here))
    writer = begin(of, SCHEMA, here)
    before = ask(file, "SELECT name FROM sqlite_master ORDER BY name")
    writer.write(batch((NEW, 1, "x")))
    assert ask(file, "SELECT name FROM sqlite_master ORDER BY name") != before
    writer.abort()
    assert ask(file, "SELECT name FROM sqlite_master ORDER BY name") == before
