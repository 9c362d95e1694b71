"""Columns of a resumed job: those of the next rows in PostgreSQL's log, and not those that its tables have now."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.change_data.options import TABLE_CONFIG
from seatunnel_core.connectors.postgres_cdc.cursor import Capture, ColumnsChange
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_log.errors import SlotInUseError
from seatunnel_core.connectors.postgres_log.server_sessions import session
from seatunnel_core.connectors.postgres_log.slot_lock import lock_holder
from tests.cdc.captured import CapturedPostgres
from tests.connectors.postgres_cdc.test_changed_columns import (
    ADD,
    DEFINED,
    PLANNING,
    TABLES,
    begun,
    read,
    stopped,
)
from tests.connectors.postgres_cdc.test_check import DATABASE, captured, source

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
__all__ = ["captured"]
OF_A = "INSERT INTO a (id, name, extra) VALUES (3, 'y', 3)"
OF_C = "ALTER TABLE deep.c ADD COLUMN more text"


def listed(*columns: str) -> dict[str, Any]:
    """Return options that list the columns of the table ``a``."""
    return {"table-names-config": (Options({"table": "a", "columns": columns}, TABLE_CONFIG.type.entries),)}


def resumed(
    captured: CapturedPostgres, schemas: tuple[TableSchema, ...], cursor: Any, *columns: int, more: Any = None
) -> PostgresCdcSource:
    """Return the source of another process, as the engine opens it, and check the numbers of columns."""
    after = source(captured, *TABLES, more=more)
    assert [len(schema.columns) for schema in after.restored_schemas(cursor, schemas)] == [*columns]
    after.open(restored=True)
    return after


def values(made: PostgresCdcSource, cursor: Any) -> tuple[list[dict[str, Any]], Any]:
    """Poll, and read what was planned; return the rows, and the cursor with the facts."""
    polled = made.poll(cursor, PLANNING)
    context = Skipped()
    splits = made.enumerate(polled.items, PLANNING).splits
    rows = [row for split in splits for batch in made.read(split, context) for row in batch.rows.to_pylist()]
    return rows, made.absorb(polled.cursor, context.facts)


def test_rows_from_before_a_change_are_read_after_a_kill(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    captured.run(DATABASE, "INSERT INTO a (id, name) VALUES (2, 'x')", ADD, OF_A, DEFINED)
    with closing(resumed(captured, schemas, cursor, 2, 2)) as second:
        rows, cursor = values(second, cursor)
        assert rows == [{"id": 2, "name": "x"}]
        cursor = stopped(second, cursor, "extra was added")
    with closing(resumed(captured, schemas, cursor, 2, 3)) as third:
        assert values(third, cursor)[0] == [{"id": 3, "name": "y", "extra": 3}]


def test_a_second_table_that_is_altered_before_its_rows_were_read(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
        captured.run(DATABASE, "INSERT INTO a (id) VALUES (2)", ADD, OF_A)
        captured.run(DATABASE, "INSERT INTO deep.c VALUES (4, 4)", DEFINED)
        keys, cursor = read(made, cursor)
        assert keys == [2]
        cursor = stopped(made, cursor, "extra was added")
    captured.run(DATABASE, OF_C, "INSERT INTO deep.c VALUES (5, 5, 'm')", "CREATE TABLE last (id int)")
    with closing(resumed(captured, schemas, cursor, 2, 3)) as second:
        rows, cursor = values(second, cursor)
        assert rows == [{"id": 3, "name": "y", "extra": 3}, {"id": 4, "nr": 4}]
        cursor = stopped(second, cursor, rf"{DATABASE}.deep.c have changed: more was added")
    with closing(resumed(captured, schemas, cursor, 3, 3)) as third:
        assert values(third, cursor)[0] == [{"id": 5, "nr": 5, "more": "m"}]


def test_each_of_several_changes_stops_the_job(captured: CapturedPostgres) -> None:
    """The table has the last columns at each stop."""
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
        captured.run(
            DATABASE,
            ADD,
            "INSERT INTO a (id, name, extra) VALUES (2, 'x', 2)",
            "ALTER TABLE a ALTER COLUMN extra TYPE text",
            "INSERT INTO a (id, name, extra) VALUES (3, 'y', 'three')",
            "ALTER TABLE a DROP COLUMN extra",
            "INSERT INTO a (id, name) VALUES (4, 'z')",
            DEFINED,
        )
        assert read(made, cursor)[0] == []
        cursor = stopped(made, read(made, cursor)[1], "extra was added")
    expected = [
        (3, {"id": 2, "name": "x", "extra": 2}, "extra was int32 and is now string"),
        (3, {"id": 3, "name": "y", "extra": "three"}, "extra was removed"),
        (2, {"id": 4, "name": "z"}, ""),
    ]
    for columns, row, message in expected:
        with closing(resumed(captured, schemas, cursor, 2, columns)) as after:
            rows, cursor = values(after, cursor)
            assert rows == [row]
            cursor = stopped(after, cursor, message) if message else cursor


def test_a_table_without_further_rows_has_its_present_columns(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    captured.run(DATABASE, ADD, OF_C, OF_A, DEFINED)
    with closing(resumed(captured, schemas, cursor, 3, 3)) as second:
        rows, cursor = values(second, cursor)
        assert rows == [{"id": 3, "name": "y", "extra": 3}]
        captured.run(DATABASE, "INSERT INTO deep.c VALUES (5, 5, 'm')", "CREATE TABLE last (id int)")
        assert values(second, cursor)[0] == [{"id": 5, "nr": 5, "more": "m"}]


def test_old_and_new_rows_of_updates_and_deletions(captured: CapturedPostgres) -> None:
    captured.run(DATABASE, "ALTER TABLE a REPLICA IDENTITY FULL")
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    dropped = "ALTER TABLE a DROP COLUMN double, DROP COLUMN name"
    captured.run(DATABASE, "UPDATE a SET name = 'n'", dropped, "DELETE FROM a", DEFINED)
    with closing(resumed(captured, schemas, cursor, 2, 2)) as second:
        rows, cursor = values(second, cursor)
        assert rows == [{"id": 1, "name": None}, {"id": 1, "name": "n"}]
        cursor = stopped(second, cursor, "name was removed")
    with closing(resumed(captured, schemas, cursor, 2, 1)) as third:
        assert values(third, cursor)[0] == [{"id": 1}]


@pytest.mark.parametrize(
    "more",
    [
        listed("id", "name"),
        {"debezium": {"column.include.list": ".*[.]id,.*[.]name,.*[.]nr"}},
    ],
    ids=["listed", "included"],
)
def test_a_selected_column_that_is_dropped_stops_the_job(captured: CapturedPostgres, more: Any) -> None:
    with closing(source(captured, *TABLES, more=more)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
        captured.run(DATABASE, "INSERT INTO a (id, name) VALUES (2, 'x')", "ALTER TABLE a DROP COLUMN name")
        captured.run(DATABASE, "INSERT INTO a (id) VALUES (3)", DEFINED)
        rows, cursor = values(made, cursor)
        assert rows == [{"id": 2, "name": "x"}]
        cursor = stopped(made, cursor, "name was removed")
    more = listed("id") if "debezium" not in more else more  # a listed column has to exist
    with closing(resumed(captured, schemas, cursor, 2, 1, more=more)) as after:
        assert values(after, cursor)[0] == [{"id": 3}]


def test_a_search_of_the_log_holds_the_lock_of_the_slot(captured: CapturedPostgres) -> None:
    """It took the slot from another job, which uses it in ranges."""
    first = source(captured, *TABLES)
    cursor, schemas = begun(captured, first), first.planned_schemas()
    captured.run(DATABASE, "INSERT INTO a (id, name) VALUES (2, 'x')", ADD, OF_A, DEFINED)
    with closing(source(captured, *TABLES)) as second:
        with closing(first), pytest.raises(SlotInUseError, match=f"the replication slot {DATABASE} is used by process"):
            second.restored_schemas(cursor, schemas, job_id="second")
        second.restored_schemas(cursor, schemas, job_id="second")
        with closing(captured.connect(DATABASE)) as connection:
            holder = lock_holder(connection, DATABASE)
            assert holder is not None
            assert session(connection, holder).application == "seatunnel second"


def test_masks_of_a_former_column(captured: CapturedPostgres) -> None:
    more = {"debezium": {"column.mask.with.3.chars": ".*[.]a[.](name|extra)"}}
    with closing(source(captured, *TABLES, more=more)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    captured.run(DATABASE, "INSERT INTO a (id, name) VALUES (2, 'secret')")
    captured.run(
        DATABASE, "ALTER TABLE a RENAME COLUMN name TO extra", "INSERT INTO a (id, extra) VALUES (3, 'secret')", DEFINED
    )
    with closing(resumed(captured, schemas, cursor, 2, 2, more=more)) as second:
        rows, cursor = values(second, cursor)
        assert rows == [{"id": 2, "name": "***"}]
        cursor = stopped(second, cursor, "extra was added, name was removed")
    with closing(resumed(captured, schemas, cursor, 2, 2, more=more)) as third:
        assert values(third, cursor)[0] == [{"id": 3, "extra": "***"}]
    for other in ({}, {"debezium": {"column.mask.with.4.chars": ".*[.]a[.](name|extra)"}}):
        after = source(captured, *TABLES, more=other)
        with closing(after), pytest.raises(SourceChangedError, match=r"masks or the filter of .* have changed"):
            after.restored_schemas(cursor, schemas)


def test_a_renamed_column_keeps_its_mask_or_needs_a_new_job(captured: CapturedPostgres) -> None:
    more = {"debezium": {"column.mask.with.3.chars": ".*[.]a[.]name"}}
    with closing(source(captured, *TABLES, more=more)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    captured.run(DATABASE, "ALTER TABLE a RENAME COLUMN name TO extra", "INSERT INTO a VALUES (3, 'secret')", DEFINED)
    after = source(captured, *TABLES, more=more)
    message = r"column name of .*a, which has a mask, was renamed to extra, so its values would be emitted unchanged"
    with closing(after), pytest.raises(SourceChangedError, match=message):
        after.restored_schemas(cursor, schemas)


def test_an_excluded_column_is_not_emitted_under_another_name(captured: CapturedPostgres) -> None:
    """Its former name was restored, but the log contains a row with the other name."""
    more = {"debezium": {"column.exclude.list": ".*[.]a[.]name"}}
    with closing(source(captured, *TABLES, more=more)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
        rename = "ALTER TABLE a RENAME COLUMN name TO extra"
        captured.run(DATABASE, rename, "INSERT INTO a VALUES (3, 'secret')", DEFINED)
        rows, cursor = values(made, cursor)
        assert rows == []
        cursor = stopped(made, cursor, "extra was added")
    after = source(captured, *TABLES, more=more)
    message = r"column name of .*a, which is not selected, was renamed to extra, so its values would be emitted"
    with closing(after), pytest.raises(SourceChangedError, match=message):
        after.restored_schemas(cursor, schemas)
    captured.run(DATABASE, "ALTER TABLE a RENAME COLUMN extra TO name")
    after = source(captured, *TABLES, more=more)
    message = r"the values of name, which is not selected, may have another name: .*extra"
    with closing(after), pytest.raises(SourceChangedError, match=message):
        after.restored_schemas(cursor, schemas)


def test_a_table_that_is_added_to_the_options_is_reported(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    captured.run(DATABASE, "CREATE TABLE later (id int PRIMARY KEY)")
    after = source(captured, "later", *TABLES)
    with closing(after):
        assert after.restored_schemas(cursor, schemas) == schemas
        after.open(restored=True)
        polled = after.poll(cursor, PLANNING)
        assert [each for each in polled.warnings if "does not capture" in each] == [
            f"the job does not capture {DATABASE}.public.later, because these tables were not selected when it "
            "started; start a new job to capture them"
        ]
        assert "does not capture" not in str(after.poll(polled.cursor, PLANNING).warnings)


@pytest.mark.parametrize("key", ["(id, name)", ""], ids=["wider", "none"])
def test_a_change_of_the_key_ends_a_running_job(captured: CapturedPostgres, key: str) -> None:
    """The columns are the same, and only the log's description of the table shows the key."""
    with closing(source(captured, *TABLES)) as made:
        cursor = begun(captured, made)
        captured.run(DATABASE, "UPDATE a SET name = '' WHERE name IS NULL", "ALTER TABLE a DROP CONSTRAINT a_pkey")
        captured.run(DATABASE, *([f"ALTER TABLE a ADD PRIMARY KEY {key}"] if key else []))
        captured.run(DATABASE, "INSERT INTO a (id, name) VALUES (3, 'x')", DEFINED)
        with pytest.raises(SourceChangedError, match=r"the key of .*a has changed .* from id to (id, name|none)"):
            values(made, cursor)


def test_a_renamed_key_needs_a_new_job(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    captured.run(DATABASE, "INSERT INTO a (id) VALUES (2)", "ALTER TABLE a RENAME COLUMN id TO number", DEFINED)
    after = source(captured, *TABLES)
    with closing(after), pytest.raises(SourceChangedError, match=r"key of .*a has changed .* from id to number"):
        after.restored_schemas(cursor, schemas)


def test_an_earlier_version_stopped_before_rows_of_both_shapes(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
        captured.run(DATABASE, "INSERT INTO a (id) VALUES (2)", ADD, DEFINED)
    state = Capture.from_record(cursor)
    change = ColumnsChange(table=f"{DATABASE}.public.a", shape=dict(state.tables)[f"{DATABASE}.public.a"],
                           message="extra was added", is_reported=True)  # fmt: skip
    stored = state.logged(state.log, changed=change).record()
    after = source(captured, *TABLES)
    with closing(after), pytest.raises(SourceChangedError, match=r"extra was added.* Start a new job"):
        after.restored_schemas(stored, schemas)


def test_the_log_is_only_searched_after_a_change(captured: CapturedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor, schemas = begun(captured, made), made.planned_schemas()
    captured.run(DATABASE, "INSERT INTO a (id) VALUES (2)", DEFINED)
    searched: list[Any] = []
    search: Callable[..., Any] = lambda *given: searched.append(given)  # noqa: E731
    monkeypatch.setattr("seatunnel_core.connectors.postgres_cdc.source.logged_tables", search)
    with closing(resumed(captured, schemas, cursor, 2, 2)) as after:
        assert read(after, cursor)[0] == [2]
    assert searched == []
