"""Changes of columns in PostgreSQL's log: reading stops before the transaction with the first new row."""

from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from tests.cdc.captured import CapturedPostgres
from tests.connectors.postgres_cdc.test_check import DATABASE, captured, source

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
__all__ = ["captured"]
PLANNING = PlanningContext(parallelism=1)
TABLES = ("a", "c")
ADD = "ALTER TABLE a ADD COLUMN extra int"
DEFINED = "CREATE TABLE more (id int)"
"""A statement after which the log ends behind all rows."""


def read(made: PostgresCdcSource, cursor: Any) -> tuple[list[int], Any]:
    """Poll, and read what was planned; return the keys of the rows, and the cursor with the facts."""
    polled = made.poll(cursor, PLANNING)
    context = Skipped()
    splits = made.enumerate(polled.items, PLANNING).splits
    batches = [batch for split in splits for batch in made.read(split, context)]
    keys = [key for batch in batches for key in batch.rows.column("id").to_pylist()]
    return keys, made.absorb(polled.cursor, context.facts)


def begun(captured: CapturedPostgres, made: PostgresCdcSource) -> Any:
    """Read the tables and the log up to its end; return the cursor."""
    captured.run(DATABASE, "ALTER TABLE deep.c REPLICA IDENTITY DEFAULT")
    cursor = read(made, {})[1]
    captured.run(DATABASE, "INSERT INTO a (id) VALUES (1)", "CREATE TABLE first (id int)")
    keys, cursor = read(made, cursor)
    assert keys == [1]
    return read(made, cursor)[1]


def stopped(made: PostgresCdcSource, cursor: Any, message: str) -> Any:
    """Return the cursor that the last checkpoint contains; the next poll stops the pipeline."""
    polled = made.poll(cursor, PLANNING)
    assert (polled.items, polled.again_ms) == ((), 0)
    with pytest.raises(ColumnsChangedError, match=message):
        made.poll(polled.cursor, PLANNING)
    return polled.cursor


def resumed(captured: CapturedPostgres, made: PostgresCdcSource, cursor: Any) -> PostgresCdcSource:
    """Return the source of another process, as the engine opens it."""
    after = source(captured, *TABLES)
    names = [schema.columns.names for schema in after.restored_schemas(cursor, made.planned_schemas())]
    assert names == [schema.columns.names for schema in source(captured, *TABLES).planned_schemas()]
    after.open(restored=True)
    return after


def test_rows_of_other_tables_of_the_same_transaction_wait(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor = begun(captured, made)
        captured.run(DATABASE, "INSERT INTO a (id) VALUES (2)", ADD)
        with captured.connect(DATABASE) as connection, connection.transaction():
            connection.execute("INSERT INTO deep.c VALUES (3, 3)")
            connection.execute("INSERT INTO a (id, extra) VALUES (3, 3)")
        captured.run(DATABASE, DEFINED)
        keys, cursor = read(made, cursor)
        assert keys == [2]
        cursor = stopped(made, cursor, rf"the columns of {DATABASE}.public.a have changed: extra was added; the first")
        with closing(resumed(captured, made, cursor)) as after:
            assert sorted(read(after, cursor)[0]) == [3, 3]


def test_a_transaction_with_rows_of_both_shapes_needs_a_new_job(captured: CapturedPostgres) -> None:
    """Its first rows lack values: the log does not contain the default of an added column."""
    with closing(source(captured, *TABLES)) as made:
        cursor = begun(captured, made)
        with captured.connect(DATABASE) as connection, connection.transaction():
            connection.execute("INSERT INTO a (id) VALUES (2)")
            connection.execute(ADD)
            connection.execute("INSERT INTO a (id, extra) VALUES (3, 3)")
        captured.run(DATABASE, DEFINED)
        with pytest.raises(
            SourceChangedError,
            match=r"extra was added; .* rows with the old columns and rows with the new.* [Ss]tart a new job",
        ):
            read(made, cursor)


def test_a_restart_in_the_process_stops_at_the_change(captured: CapturedPostgres) -> None:
    """It keeps the columns that it has read, so earlier rows are emitted, and the change is reported."""
    with closing(source(captured, *TABLES)) as made:
        cursor = begun(captured, made)
        schemas = made.planned_schemas()
        captured.run(DATABASE, "INSERT INTO a (id) VALUES (2)", ADD, "INSERT INTO a (id) VALUES (3)", DEFINED)
        assert made.restored_schemas(cursor, schemas) == schemas
        made.open(restored=True)
        keys, cursor = read(made, cursor)
        assert keys == [2]
        cursor = stopped(made, cursor, "extra was added")
        assert made.restored_schemas(cursor, schemas) == schemas
        with pytest.raises(ColumnsChangedError, match="extra was added"):
            made.poll(cursor, PLANNING)


def test_a_change_while_tables_are_copied_needs_a_new_job(captured: CapturedPostgres) -> None:
    with closing(source(captured, "a")) as made:
        captured.run(DATABASE, "INSERT INTO a (id) VALUES (1)")
        cursor = made.poll({}, PLANNING).cursor
        captured.run(DATABASE, ADD)
        after = source(captured, "a")
        with closing(after), pytest.raises(SourceChangedError, match=r"public.a changed while the tables were"):
            after.restored_schemas(cursor, made.planned_schemas())


def test_another_key_needs_a_new_job(captured: CapturedPostgres) -> None:
    with closing(source(captured, *TABLES)) as made:
        cursor = begun(captured, made)
        schemas = made.planned_schemas()
        captured.run(DATABASE, "ALTER TABLE deep.c DROP CONSTRAINT c_pkey, ADD PRIMARY KEY (nr)")
        after = source(captured, *TABLES)
        with closing(after), pytest.raises(SourceChangedError, match=r"deep.c has changed .* from id to nr"):
            after.restored_schemas(cursor, schemas)
