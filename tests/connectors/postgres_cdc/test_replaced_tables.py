"""Captured tables of a server that were dropped, with another table under their name."""

from contextlib import closing

import pytest

from seatunnel_core.connector_api.errors import SourceChangedError
from tests.cdc.captured import CapturedPostgres
from tests.connectors.postgres_cdc.test_changed_tables import PLANNING, ROWS, read, read_later, with_snapshot
from tests.connectors.postgres_cdc.test_check import DATABASE, captured, source

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
__all__ = ["captured"]
OTHER = "CREATE TABLE other (id int PRIMARY KEY, name text, double int GENERATED ALWAYS AS (id * 3) STORED)"
SECRETS = "INSERT INTO other SELECT g, 'secret' FROM generate_series(1, 5) g"
REPLACED = ("DROP TABLE a", "ALTER TABLE other RENAME TO a")
MASKED = {"debezium": {"column.mask.with.3.chars": r"public\.a\.name"}}
MESSAGE = (
    r"the table .*public\.a is not the table with which the job started: .* renamed to this name\. Start a new job"
)


@pytest.fixture(autouse=True)
def _other(captured: CapturedPostgres) -> None:
    publication = f"CREATE PUBLICATION {DATABASE} FOR ALL TABLES WITH (publish_via_partition_root = true)"
    captured.run(DATABASE, ROWS, OTHER, SECRETS, publication)


def test_a_table_that_is_replaced_within_a_range_is_not_read(captured: CapturedPostgres) -> None:
    with closing(source(captured, "a", more=MASKED)) as made:
        cursor = with_snapshot(made)
        polled = read_later(captured, made, cursor, *REPLACED, "INSERT INTO a VALUES (77, 'secret')")
        with pytest.raises(SourceChangedError, match=MESSAGE):
            read(made, polled)


def test_a_table_that_is_replaced_during_the_snapshot_is_not_read(captured: CapturedPostgres) -> None:
    with closing(source(captured, "a", more=MASKED)) as made:
        polled = made.poll({}, PLANNING)
        captured.run(DATABASE, *REPLACED)
        with pytest.raises(SourceChangedError, match=MESSAGE):
            read(made, polled)


def test_a_table_that_is_replaced_before_the_start_is_not_captured(captured: CapturedPostgres) -> None:
    """The creation of the slot may wait for a long time after the tables were described."""
    with closing(source(captured, "a", more=MASKED)) as made:
        made.planned_schemas()
        captured.run(DATABASE, *REPLACED)
        with pytest.raises(SourceChangedError, match=MESSAGE):
            made.poll({}, PLANNING)


def test_a_table_that_is_replaced_before_a_resume_is_not_read(captured: CapturedPostgres) -> None:
    """Tasks read the remaining chunks before the first poll."""
    with closing(source(captured, "a", more=MASKED)) as made:
        schemas = made.planned_schemas()
        cursor = made.poll({}, PLANNING).cursor
    captured.run(DATABASE, *REPLACED)
    with closing(source(captured, "a", more=MASKED)) as made, pytest.raises(SourceChangedError, match=MESSAGE):
        made.restored_schemas(cursor, schemas)
