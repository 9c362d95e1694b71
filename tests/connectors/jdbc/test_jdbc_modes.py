"""``write_mode`` of the sink ``Jdbc`` on each database: what a reader finds, what is refused, and a kill at its end."""

import gc
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing import commit, options_of
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing
from seatunnel_core.connectors.jdbc import publishing
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.tables import ledger, replacement
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.committable import Committable
from tests.connectors.jdbc.databases import Database, empty
from tests.connectors.jdbc.sink_units import AFTER, CHANGES, GONE, NEW, SCHEMA, JdbcSinkSuite, batch, stage_of

MERGE: dict[str, Any] = {"write_mode": "merge", "merge_key": "id"}
REPLACE: dict[str, Any] = {"write_mode": "replace"}
APPEND: dict[str, Any] = {"write_mode": "append", "is_exactly_once": True}


def sink(database: Database, **options: Any) -> JdbcSink:
    return JdbcSink(options_of(JdbcSink, {**database.options, "table": "people", **options}))


def people(database: Database) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, database.run("SELECT id, name FROM people")), key=lambda row: row[0])


def unit(of: JdbcSink, number: int, rows: Sequence[tuple[Any, ...]], job: str = "job") -> Committable:
    here = place(unit=number, job_id=job)
    writer = begin(of, SCHEMA, here)
    writer.write(batch(*rows))
    return stage_of(writer.finish(), unit=number)


def run(
    database: Database, *units: Sequence[tuple[Any, ...]], job: str = "job", end: bool = True, **options: Any
) -> JdbcSink:
    """A whole run, all of whose units are committed at once."""
    of, here = sink(database, **(options or APPEND)), sink_place(place(job_id=job))
    of.prepare(here)
    of.apply_save_mode(here)
    of.create_tables((SCHEMA,), here)
    of.commit([unit(of, number, rows, job) for number, rows in enumerate(units, 1)], here, may_be_committed=False)
    if end:
        of.complete(here)
        of.sweep(here, frozenset(), final=True)
        of.clear(here)
    return of


@pytest.mark.parametrize(("changes", "expected"), CHANGES)
def test_a_merge_applies_the_last_row_of_each_key(changes: Any, expected: Any, database: Database) -> None:
    run(database, [(NEW, 1, "a"), (NEW, 2, "b")], **MERGE)
    run(database, changes, job="next", **MERGE)
    assert people(database) == expected


def test_the_last_unit_of_a_checkpoint_counts(database: Database) -> None:
    run(database, [(NEW, 1, "first"), (NEW, 2, "b")], [(NEW, 1, "second")], [(GONE, 2, None)], **MERGE)
    assert people(database) == [(1, "second")]


def test_a_column_that_is_added_while_the_job_runs_keeps_its_values(database: Database) -> None:
    """Without a unique index, rows are deleted and inserted: the column was null afterwards."""
    database.run("CREATE TABLE people (id bigint, name varchar(20))", "INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of, here = sink(database, **MERGE), sink_place(place())
    of.prepare(here)
    kept, lost = unit(of, 1, [(AFTER, 2, "B"), (NEW, 3, "c")]), unit(of, 2, [(AFTER, 1, "A")])
    database.run("ALTER TABLE people ADD COLUMN tier varchar(9)", "UPDATE people SET tier = 'gold' WHERE id = 1")
    of.commit([kept], here, may_be_committed=False)
    with pytest.raises(CommitError, match=r"people has the column 'tier', which the staged rows lack"):
        of.commit([lost], here, may_be_committed=False)
    found = sorted(map(tuple, database.run("SELECT id, name, tier FROM people")))
    assert found == [(1, "a", "gold"), (2, "B", None), (3, "c", None)]
    database.run("CREATE UNIQUE INDEX people_id ON people (id)")
    of.commit([lost], here, may_be_committed=False)
    assert sorted(map(tuple, database.run("SELECT id, name, tier FROM people")))[0] == (1, "A", "gold")


def test_a_merge_finds_rows_without_a_unique_index(database: Database) -> None:
    database.run("CREATE TABLE people (id bigint, name varchar(20))", "INSERT INTO people VALUES (1, 'a'), (1, 'b')")
    run(database, [(NEW, 1, "one"), (AFTER, 2, "two")], **MERGE)
    assert people(database) == [(1, "one"), (2, "two")]


def test_a_merge_keeps_columns_that_rows_lack_or_is_refused(database: Database) -> None:
    database.run("CREATE TABLE people (id bigint, name varchar(20), note varchar(9) DEFAULT 'none')")
    with pytest.raises(SinkError, match=r"no unique index on \(id\).*reset the column 'note'"):
        run(database, [(NEW, 1, "a")], **MERGE)
    database.run("CREATE UNIQUE INDEX people_id ON people (id)", "INSERT INTO people VALUES (1, 'a', 'mine')")
    run(database, [(NEW, 1, "one"), (NEW, 2, "two")], job="next", **MERGE)
    assert sorted(database.run("SELECT * FROM people")) == [(1, "one", "mine"), (2, "two", "none")]


def test_a_row_without_a_key_is_refused_where_it_stands(database: Database) -> None:
    of = sink(database, **MERGE)
    of.prepare(sink_place(place()))
    with pytest.raises(RowError, match=r"column 'id', row 2 of a batch of shop.people: the value is null.*the key"):
        unit(of, 1, [(NEW, 1, "a"), (NEW, None, "b")])


def test_a_key_twice_from_a_query_without_order_is_refused(database: Database) -> None:
    of = sink(database, **MERGE)
    of.prepare(sink_place(place()))
    parts = []
    for attempt in ("1-1", "1-2"):
        here = place(attempt=attempt)
        writer = begin(of, SCHEMA, here)
        writer.write(batch((NEW, 7, attempt)))
        parts += writer.finish().body["tables"]
    with pytest.raises(CommitError, match="the key id = 7 occurs twice in the result of a query"):
        commit(of, [evolve(stage_of(of.merge([])), body={"tables": parts})], place())


def test_a_replace_shows_the_old_rows_until_its_end(database: Database) -> None:
    run(database, [(NEW, 1, "a"), (NEW, 2, "b")])
    run(database, [(NEW, 3, "c")], [(NEW, 4, "d")], job="next", end=False, **REPLACE)
    assert people(database) == [(1, "a"), (2, "b")]
    later = sink_place(place(job_id="next", epoch=2))
    of = sink(database, **REPLACE)
    of.prepare(later)
    for _ in range(2):  # killed before it was recorded, it is called again
        of.complete(later)
        assert people(database) == [(3, "c"), (4, "d")]
    of.clear(later)
    run(database, job="empty", **REPLACE)
    assert people(database) == []


def test_a_replaced_engine_replaces_nothing(database: Database) -> None:
    run(database, [(NEW, 1, "a")])
    asleep = run(database, [(NEW, 2, "b")], job="next", end=False, **REPLACE)
    sink(database, **REPLACE).prepare(sink_place(place(job_id="next", epoch=2)))
    with pytest.raises(SinkError, match="another engine has taken over this job"):
        asleep.complete(sink_place(place(job_id="next")))
    assert people(database) == [(1, "a")]


def test_only_partitions_with_new_rows_are_replaced(database: Database) -> None:
    run(database, [(NEW, 1, "x"), (NEW, 2, "x"), (NEW, 3, "y"), (NEW, 4, None)])
    run(database, [(NEW, 7, "x"), (NEW, 8, None)], job="next", replace_partitions="name", **REPLACE)
    assert people(database) == [(3, "y"), (7, "x"), (8, None)]


def test_two_sinks_of_a_job_do_not_replace_one_table(database: Database) -> None:
    run(database, end=False, **REPLACE)
    here = sink_place(place(pipeline_id=2))
    other = sink(database, **REPLACE)
    other.prepare(here)
    with pytest.raises(SinkError, match="another sink of this job replaces the table"):
        other.create_tables((SCHEMA,), here)


def test_rows_are_added_although_they_bring_a_key(database: Database) -> None:
    keyed = evolve(SCHEMA, primary_key=("id",))
    for job in ("one", "two"):
        here = place(job_id=job)
        of = sink(database, **APPEND)
        of.prepare(sink_place(here))
        writer = begin(of, keyed, here)
        writer.write(batch((NEW, 1, job)))
        commit(of, [stage_of(writer.finish())], here)
    assert people(database) == [(1, "one"), (1, "two")]


SQLITE = {"url": "jdbc:sqlite:/nowhere.db", "table": "people"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({**MERGE, "primary_keys": "name"}, r"'primary_keys': primary_keys contains name, but merge_key contains id"),
        ({**MERGE, "enable_upsert": False}, "'enable_upsert': enable_upsert = false rejects rows"),
        ({**MERGE, "is_exactly_once": False}, "'is_exactly_once': is_exactly_once = false writes rows directly"),
        ({**REPLACE, "is_exactly_once": False}, "'is_exactly_once': is_exactly_once = false writes rows directly"),
        ({**REPLACE, "data_save_mode": "DROP_DATA"}, "DROP_DATA acts before the first row"),
        ({**REPLACE, "query": "INSERT INTO t VALUES (?)"}, "'query': the statement already determines how rows"),
        (
            {"write_mode": "append", "primary_keys": "id"},
            "'primary_keys': with primary_keys, a row replaces the existing row",
        ),
        ({"merge_key": "id"}, "'merge_key': requires write_mode = merge"),
        ({**MERGE, "table": ""}, "'table': required with write_mode"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        JdbcSink(options_of(JdbcSink, {**SQLITE, **options}))


def test_older_options_mean_what_they_did() -> None:
    """One mechanism has two names: a merge is exactly once, and the older names write at once unless they say so."""
    merging = JdbcSink(options_of(JdbcSink, {**SQLITE, "write_mode": "merge", "primary_keys": "id"}))
    older = JdbcSink(options_of(JdbcSink, {**SQLITE, "generate_sink_sql": True, "primary_keys": "id"}))
    assert (merging.guarantee.value, merging.needs_order) == ("exactly-once", True)
    assert (older.guarantee.value, older.needs_order) == ("idempotent", False)


@pytest.mark.parametrize(
    ("options", "replaces"),
    [
        ({"generate_sink_sql": True}, True),
        ({"generate_sink_sql": True, "enable_upsert": False}, False),
        ({"query": "INSERT INTO t VALUES (?)"}, False),
        ({"write_mode": "merge"}, True),
        ({"write_mode": "merge", "keep_history": True}, False),
        ({"write_mode": "append"}, False),
    ],
)
def test_a_table_may_be_read_again_only_if_rows_replace_each_other(options: dict[str, Any], replaces: bool) -> None:
    assert JdbcSink(options_of(JdbcSink, {**SQLITE, **options})).replaces_rows is replaces


def test_a_key_that_is_missing_is_refused_by_a_check() -> None:
    with pytest.raises(SinkError, match=r"no column 'idd'.*did you mean id\?"):
        JdbcSink(options_of(JdbcSink, {**SQLITE, **MERGE, "merge_key": "idd"})).check_schema(SCHEMA)
    with pytest.raises(SinkError, match="have no key"):
        JdbcSink(options_of(JdbcSink, {**SQLITE, "write_mode": "merge"})).check_schema(SCHEMA)
    nested = TableSchema(table="t", columns=pa.schema([("id", pa.list_(pa.int64()))]))
    with pytest.raises(SinkError, match="which cannot identify a row"):
        JdbcSink(options_of(JdbcSink, {**SQLITE, **MERGE})).check_schema(nested)


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_replace_that_is_killed_between_any_two_lines_shows_the_old_or_the_new_rows(tmp_path: Path) -> None:
    old, new = [(1, "a")], [(2, "b"), (3, "c")]
    moment, here, later = 1, sink_place(place(job_id="next")), sink_place(place(job_id="next", epoch=2))
    places: set[str] = set()
    while True:
        (tmp_path / str(moment)).mkdir()
        database = empty("sqlite", tmp_path / str(moment))
        run(database, [(NEW, *row) for row in old])
        of = run(database, [(NEW, *row) for row in new], job="next", end=False, **REPLACE)
        with Killing([Path(str(each.__file__)) for each in (ledger, publishing, replacement)], moment) as killing:
            of.complete(here)
        del of
        gc.collect()
        forget()
        assert people(database) in (old, new), killing.place
        again = sink(database, **REPLACE)
        again.prepare(later)
        again.complete(later)
        assert people(database) == new, killing.place
        forget()
        if killing.place is None:
            break
        places.add(killing.place)
        moment += 9
    assert len(places) >= 4


@pytest.mark.torture
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # connections of what was killed
@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestMergingIntoSqlite(JdbcSinkSuite):
    """The kit's suite, whose rows have keys of their own."""

    kills = 15

    @pytest.fixture(autouse=True)
    def target(self, tmp_path: Path) -> None:
        self.database = empty("sqlite", tmp_path)

    def options(self) -> dict[str, Any]:
        return {**self.database.options, "table": "people", **MERGE}

    def visible(self) -> list[dict[str, Any]]:
        with suppress(sqlite3.OperationalError):
            return [{"id": number} for (number,) in self.database.run("SELECT id FROM people")]
        return []

    def staged(self) -> int:
        asked = "SELECT count(*) FROM sqlite_master WHERE name LIKE 'seatunnel%_u%'"
        return int(self.database.run(asked)[0][0])
