"""Requests to read a table again, and a resumed process that reads it."""

from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from seatunnel_core.connectors.postgres_log.log_table import LogColumn, LogTable
from tests.cdc.captured import CapturedPostgres
from tests.connectors.mysql_cdc.tables import table
from tests.connectors.postgres_cdc.test_changed_columns import ADD, DEFINED, begun, captured, read, resumed, stopped
from tests.connectors.postgres_cdc.test_check import DATABASE, PLANNING, source

__all__ = ["captured"]
A = f"{DATABASE}.public.a"


def logged(*columns: str) -> LogTable:
    some = [(name, pa.int32()) for name in columns]
    convert: Any = None
    return LogTable(
        oid=7,
        namespace="public",
        name="a",
        identity="DEFAULT",
        columns=tuple(
            LogColumn(name=name, declared="integer", in_identity=name == "id", arrow=arrow, convert=convert)
            for name, arrow in some
        ),
        schema=pa.schema(some),
        version=1,
        fingerprint="",
    )


def test_a_table_with_its_present_columns_in_the_log_can_be_read() -> None:
    present = Captured(path=("public", "a"), found=table("a"))
    assert present.as_logged(logged("id", "a"), EVERY_COLUMN).is_readable
    former = present.as_logged(logged("id"), EVERY_COLUMN)
    assert (former.is_readable, former.found.schema().columns.names) == (False, ["id"])


@pytest.mark.servers
@pytest.mark.timeout(120)
def test_a_resumed_process_reads_a_table_with_changed_columns_again(captured: CapturedPostgres) -> None:
    """The log has rows with the new columns after the change at which the job stopped."""
    with closing(source(captured, "a", "c")) as made:
        cursor = begun(captured, made)
        captured.run(DATABASE, ADD, "INSERT INTO a (id, extra) VALUES (2, 2)", DEFINED)
        cursor = stopped(made, made.reread(read(made, cursor)[1], A), "extra was added; the first")
        with closing(resumed(captured, made, cursor)) as after:
            found: list[int] = []
            for _ in range(20):
                if not cursor.get("rereads"):
                    break
                keys, cursor = read(after, cursor)
                found += keys
            assert not cursor.get("rereads")
            assert set(found) == {1, 2}


@pytest.mark.servers
@pytest.mark.timeout(120)
def test_a_table_with_values_that_updates_do_not_log_is_rejected(captured: CapturedPostgres) -> None:
    """A target without the row could not apply such an update, and the job could not continue."""
    with closing(source(captured, "a", "c")) as made:
        captured.run(DATABASE, "ALTER TABLE a ALTER name SET STORAGE EXTERNAL")
        cursor = begun(captured, made)
        assert made.reread(cursor, A)["rereads"], "no value is stored separately"
        captured.run(DATABASE, "INSERT INTO a (id, name) VALUES (2, repeat('x', 9000))")
        with pytest.raises(UsageError, match="run ALTER TABLE a REPLICA IDENTITY FULL, and repeat the request"):
            made.reread(cursor, A)
        captured.run(DATABASE, "ALTER TABLE a REPLICA IDENTITY FULL")
        assert made.reread(cursor, A)["rereads"]
        assert made.poll(cursor, PLANNING).cursor
