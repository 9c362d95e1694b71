"""Tables of a server that change while they are captured, and tables that cannot be captured."""

import sys
from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.change_data.options import TABLE_CONFIG
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_log.sql_connection import run
from tests.cdc.captured import CapturedPostgres
from tests.connectors.postgres_cdc.test_check import DATABASE, READER, captured, refused, source

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
__all__ = ["captured"]
PLANNING = PlanningContext(parallelism=1)
ROWS = "INSERT INTO a (id, name) SELECT g, 'x' FROM generate_series(1, 10) g"


def read(made: PostgresCdcSource, polled: Any) -> tuple[int, Any]:
    """Read what a poll planned; return the number of rows, and the cursor with the facts."""
    context = Skipped()
    splits = made.enumerate(polled.items, PLANNING).splits
    rows = sum(batch.rows.num_rows for split in splits for batch in made.read(split, context))
    return rows, made.absorb(polled.cursor, context.facts)


def with_snapshot(made: PostgresCdcSource) -> Any:
    """Read the tables; return the cursor behind them."""
    return read(made, made.poll({}, PLANNING))[1]


@pytest.mark.parametrize(
    "rewritten",
    ["ALTER TABLE a ADD COLUMN extra double precision DEFAULT random()", "VACUUM FULL a"],
)
def test_a_table_that_is_rewritten_while_it_is_read_keeps_its_rows(captured: CapturedPostgres, rewritten: str) -> None:
    """An older snapshot sees no row of a table that was rewritten, and the log has none of them."""
    captured.run(DATABASE, ROWS)
    with closing(source(captured, "a")) as made:
        polled = made.poll({}, PLANNING)
        captured.run(DATABASE, rewritten)
        assert read(made, polled)[0] == 10


def test_a_partition_that_is_rewritten_keeps_its_rows(captured: CapturedPostgres) -> None:
    captured.run(
        DATABASE,
        "CREATE TABLE parts (id int PRIMARY KEY, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (5)",
        "CREATE TABLE high PARTITION OF parts FOR VALUES FROM (5) TO (99)",
        "INSERT INTO parts SELECT g, 'x' FROM generate_series(1, 10) g",
    )
    with closing(source(captured, "parts")) as made:
        polled = made.poll({}, PLANNING)
        captured.run(
            DATABASE, "CREATE TABLE other AS SELECT * FROM high", "TRUNCATE high", "INSERT INTO high TABLE other"
        )
        assert read(made, polled)[0] == 10


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ([f"ALTER PUBLICATION {DATABASE} DROP TABLE a"], f"publication {DATABASE} was changed .* changes of public.a"),
        (
            [
                f"ALTER PUBLICATION {DATABASE} DROP TABLE a",
                "DELETE FROM a",
                f"ALTER PUBLICATION {DATABASE} ADD TABLE a",
            ],
            f"the publication {DATABASE} was changed",
        ),
        ([f"ALTER PUBLICATION {DATABASE} SET (publish = 'insert')"], f"the publication {DATABASE} was changed"),
        ([f"DROP PUBLICATION {DATABASE}"], f"the publication {DATABASE} was changed"),
        (["ALTER TABLE a RENAME TO gone"], "the table public.a was dropped or renamed"),
        (["DROP TABLE a"], "the table public.a was dropped or renamed"),
        (
            ["DROP TABLE a", "CREATE TABLE a (id int PRIMARY KEY, name text)"],
            "the table public.a is not the table with which the job started",
        ),
    ],
)
def test_a_table_that_is_no_longer_captured_stops_the_job(
    captured: CapturedPostgres, statements: list[str], message: str
) -> None:
    """Its changes stopped, and nothing reported it."""
    with closing(source(captured, "a")) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, ROWS)
        rows, cursor = read(made, made.poll(cursor, PLANNING))
        assert rows == 10
        captured.run(DATABASE, *statements, "CREATE TABLE more (id int)")
        with pytest.raises(SourceChangedError, match=message):
            made.poll(cursor, PLANNING)


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
@pytest.mark.parametrize("key", ["id, name", "name"])
def test_another_primary_key_stops_the_running_job(captured: CapturedPostgres, identity: str, key: str) -> None:
    """Rows that differ in a new column of the key would overwrite each other."""
    captured.run(DATABASE, f"ALTER TABLE a REPLICA IDENTITY {identity}")
    with closing(source(captured, "a")) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, ROWS)
        rows, cursor = read(made, made.poll(cursor, PLANNING))
        assert rows == 10
        captured.run(
            DATABASE, "UPDATE a SET name = id", f"ALTER TABLE a DROP CONSTRAINT a_pkey, ADD PRIMARY KEY ({key})"
        )
        captured.run(DATABASE, "INSERT INTO a (id, name) VALUES (1, 'other')")
        with pytest.raises(
            SourceChangedError, match=r"the key of the table public\.a has .* from id to .*name.*new job"
        ):
            made.poll(cursor, PLANNING)


@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE b ADD PRIMARY KEY (id) INCLUDE (name)"],
        [
            "ALTER TABLE b ADD COLUMN hidden int PRIMARY KEY GENERATED ALWAYS AS IDENTITY",
            f"CREATE PUBLICATION {DATABASE} FOR TABLE b (id, name) WITH (publish_via_partition_root = true)",
        ],
    ],
    ids=["covering key", "key that is not published"],
)
def test_a_table_with_a_key_that_rows_lack_is_captured_without_it(
    captured: CapturedPostgres, statements: list[str]
) -> None:
    captured.run(DATABASE, "ALTER TABLE b REPLICA IDENTITY FULL", *statements)
    assert "has no primary key" in refused(source(captured, "b"))
    with closing(source(captured, "b", more={"tables-without-key": "capture"})) as made:
        assert [schema.primary_key for schema in made.planned_schemas()] == [()]
        cursor = with_snapshot(made)
        captured.run(DATABASE, "INSERT INTO b (id, name) VALUES (1, 'x'), (2, 'x')")
        assert read(made, made.poll(cursor, PLANNING))[0] == 2


def test_a_table_without_a_key_may_get_one(captured: CapturedPostgres) -> None:
    captured.run(DATABASE, "ALTER TABLE b REPLICA IDENTITY FULL")
    with closing(source(captured, "b", more={"tables-without-key": "capture"})) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, "ALTER TABLE b ADD PRIMARY KEY (id)", "INSERT INTO b VALUES (1, 'x')")
        rows, cursor = read(made, made.poll(cursor, PLANNING))
        assert rows == 1
        captured.run(DATABASE, "UPDATE b SET name = 'y'")
        assert read(made, made.poll(cursor, PLANNING))[0] == 2


def test_a_table_without_a_key_needs_its_whole_old_rows(captured: CapturedPostgres) -> None:
    """An update had only its new row, so the old one remained in the target."""
    captured.run(DATABASE, "ALTER TABLE b REPLICA IDENTITY FULL", "INSERT INTO b VALUES (1, 'x')")
    with closing(source(captured, "b", more={"tables-without-key": "capture"})) as made:
        cursor = with_snapshot(made)
        polled = read_later(captured, made, cursor, "ALTER TABLE b ADD PRIMARY KEY (id)", "UPDATE b SET name = 'y'")
        assert read(made, polled)[0] == 2
        statements = ("ALTER TABLE b REPLICA IDENTITY USING INDEX b_pkey", "UPDATE b SET name = 'z'")
        with pytest.raises(SourceChangedError, match=r"replica identity of .*\.b was changed, .* the column name; run"):
            read(made, read_later(captured, made, cursor, *statements))


def read_later(captured: CapturedPostgres, made: PostgresCdcSource, cursor: Any, *statements: str) -> Any:
    """Plan a range, and extend it by the log of these statements."""
    captured.run(DATABASE, "CREATE TABLE IF NOT EXISTS more (id int)", "DROP TABLE more")
    polled = made.poll(cursor, PLANNING)
    captured.run(DATABASE, *statements, "CREATE TABLE more (id int)")
    end = captured.run(DATABASE, "SELECT pg_current_wal_lsn()::text")[0][0]
    log = {**polled.items[0]["log"], "end": end}
    return type(polled)(items=({"log": log},), cursor=polled.cursor, again_ms=0)


def test_a_key_that_becomes_a_covering_one_is_the_same(captured: CapturedPostgres) -> None:
    with closing(source(captured, "a")) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, "ALTER TABLE a DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (id) INCLUDE (name)", ROWS)
        assert read(made, made.poll(cursor, PLANNING))[0] == 10


def test_a_state_of_an_earlier_version_gets_the_timeline(captured: CapturedPostgres) -> None:
    """Without it, the standby of the server could be promoted unnoticed."""
    with closing(source(captured, "a")) as made:
        cursor = with_snapshot(made)
        timeline = cursor["timeline"]
        assert timeline > 0
        former = {name: value for name, value in cursor.items() if name != "timeline"}
        assert made.poll({**former, "timeline": 0}, PLANNING).cursor["timeline"] == timeline
        assert made.poll(former, PLANNING).cursor["timeline"] == timeline


def test_other_tables_of_a_publication_do_not_stop_the_job(captured: CapturedPostgres) -> None:
    with closing(source(captured, "a")) as made:
        cursor = with_snapshot(made)
        others = ["ALTER PUBLICATION {0} ADD TABLE deep.c", "ALTER PUBLICATION {0} DROP TABLE deep.c"]
        vacuum = "VACUUM (FULL, FREEZE) pg_publication"
        captured.run(DATABASE, *(each.format(DATABASE) for each in others), vacuum, ROWS, "CREATE TABLE more (id int)")
        assert read(made, made.poll(cursor, PLANNING))[0] == 10


def test_a_table_that_is_renamed_within_a_range_stops_it(captured: CapturedPostgres) -> None:
    with closing(source(captured, "a")) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, ROWS, "CREATE TABLE more (id int)")
        polled = made.poll(cursor, PLANNING)
        captured.run(DATABASE, "ALTER TABLE a RENAME TO gone", "INSERT INTO gone (id) VALUES (99)")
        end = captured.run(DATABASE, "SELECT pg_current_wal_lsn()::text")[0][0]
        log = {**polled.items[0]["log"], "end": end}
        with pytest.raises(SourceChangedError, match=r"the table .*public\.a was renamed to public\.gone, .*new job"):
            read(made, type(polled)(items=({"log": log},), cursor=polled.cursor, again_ms=0))


def test_tables_with_inheriting_tables_are_refused(captured: CapturedPostgres) -> None:
    """A SELECT of the parent has rows whose changes the log has for another table."""
    captured.run(DATABASE, "CREATE TABLE child (PRIMARY KEY (id)) INHERITS (a)")
    said = refused(source(captured, "a"))
    assert "the table public.a includes the rows of the tables that inherit from it (child)" in said
    captured.run(DATABASE, 'ALTER TABLE child NO INHERIT "public"."a"')
    source(captured, "a").require_input()


def test_the_check_of_each_range_is_one_query(captured: CapturedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1,000 tables, each query takes several milliseconds."""
    statements: list[str] = []

    def counted(*given: Any) -> list[Any]:
        statements.append(given[1])
        return run(*given)

    for name, module in list(sys.modules.items()):
        if name.startswith("seatunnel_core.connectors.postgres_cdc.") and hasattr(module, "run"):
            monkeypatch.setattr(module, "run", counted)
    with closing(source(captured, "a")) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, ROWS, "CREATE TABLE more (id int)")
        statements.clear()
        assert made.poll(cursor, PLANNING).items
    assert len([each for each in statements if "pg_publication" in each or "relreplident" in each]) == 1


def test_policies_that_hide_rows_are_refused(captured: CapturedPostgres) -> None:
    """The snapshot lacked rows that the log has."""
    captured.run(
        DATABASE,
        ROWS,
        f"ALTER ROLE {READER} REPLICATION",
        f"GRANT SELECT ON a TO {READER}",
        f"CREATE PUBLICATION {DATABASE} FOR TABLE a WITH (publish_via_partition_root = true)",
    )
    with closing(source(captured, "a", reader=True)) as made:
        made.require_input()
        polled = made.poll({}, PLANNING)
        captured.run(DATABASE, "ALTER TABLE a ENABLE ROW LEVEL SECURITY", "CREATE POLICY few ON a USING (id < 5)")
        with pytest.raises(SourceError, match="row-level security policy for table"):
            read(made, polled)
    said = refused(source(captured, "a", reader=True))
    assert f'policies of public.a may hide rows from the user {READER}; run ALTER ROLE "{READER}" BYPASSRLS' in said
    captured.run(DATABASE, f"ALTER ROLE {READER} BYPASSRLS")
    source(captured, "a", reader=True).require_input()


def test_partitions_need_the_identity_of_their_table(captured: CapturedPostgres) -> None:
    """ALTER TABLE does not change the identity of partitions, and the server uses theirs."""
    captured.run(
        DATABASE,
        "CREATE TABLE parts (id int PRIMARY KEY, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (5)",
        "ALTER TABLE low REPLICA IDENTITY NOTHING",
    )
    said = refused(source(captured, "parts"))
    assert "the partition low of cdc_check.public.parts do not contain its key (id); run ALTER TABLE low" in said
    captured.run(DATABASE, "ALTER TABLE low REPLICA IDENTITY DEFAULT")
    source(captured, "parts").require_input()
    captured.run(DATABASE, "ALTER TABLE parts REPLICA IDENTITY FULL")
    assert "the partition low of cdc_check.public.parts do not contain all columns" in refused(
        source(captured, "parts")
    )
    captured.run(DATABASE, "ALTER TABLE low REPLICA IDENTITY FULL")
    source(captured, "parts", more={"require-replica-identity-full": True}).require_input()


@pytest.mark.parametrize(
    ("key", "before", "after", "changed"),
    [
        ((), "DEFAULT", "USING INDEX c_nr_key", "UPDATE deep.c SET id = 2"),
        (("nr",), "FULL", "DEFAULT", "UPDATE deep.c SET nr = 2"),
    ],
)
def test_a_replica_identity_that_lost_the_key_stops_the_range(
    captured: CapturedPostgres, key: tuple[str, ...], before: str, after: str, changed: str
) -> None:
    """The old row remained in the target, because the log no longer showed its key."""
    captured.run(DATABASE, f"ALTER TABLE deep.c REPLICA IDENTITY {before}")
    entry = Options({"table": "c", "primaryKeys": key}, TABLE_CONFIG.type.entries)
    with closing(source(captured, "c", more={"table-names-config": (entry,)} if key else {})) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, "INSERT INTO deep.c VALUES (1, 1)")
        polled = read_later(captured, made, cursor, f"ALTER TABLE deep.c REPLICA IDENTITY {after}", changed)
        with pytest.raises(SourceChangedError, match=r"replica identity of .*deep\.c was changed, so old rows do not"):
            read(made, polled)


def test_a_new_partition_with_another_replica_identity_stops_the_job(captured: CapturedPostgres) -> None:
    """Partitions do not inherit FULL, and old rows of the new one lacked all values outside its key."""
    captured.run(
        DATABASE,
        "CREATE TABLE parts (id int PRIMARY KEY, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (5)",
        *(f"ALTER TABLE {name} REPLICA IDENTITY FULL" for name in ("parts", "low")),
    )
    with closing(source(captured, "parts")) as made:
        cursor = with_snapshot(made)
        captured.run(DATABASE, "INSERT INTO parts VALUES (1, 'x')", "CREATE TABLE more (id int)")
        rows, cursor = read(made, made.poll(cursor, PLANNING))
        assert rows == 1
        captured.run(
            DATABASE,
            "CREATE TABLE high PARTITION OF parts FOR VALUES FROM (5) TO (99)",
            "INSERT INTO parts VALUES (7, 'x')",
            "CREATE TABLE most (id int)",
        )
        with pytest.raises(SourceChangedError, match=r"partition high of .*; run ALTER TABLE high REPLICA IDENTITY"):
            made.poll(cursor, PLANNING)
        captured.run(DATABASE, "ALTER TABLE high REPLICA IDENTITY FULL")
        assert read(made, made.poll(cursor, PLANNING))[0] == 1


def test_slots_that_cannot_be_used_are_named(captured: CapturedPostgres) -> None:
    said = refused(source(captured, "a", more={"startup.mode": "committed-offset"}))
    assert f"committed-offset continues the replication slot {DATABASE}, which does not exist" in said
    create = f"SELECT pg_create_logical_replication_slot('{DATABASE}', '%s')"
    drop = f"SELECT pg_drop_replication_slot('{DATABASE}')"
    captured.run("postgres", create % "pgoutput")
    said = refused(source(captured, "a"))
    assert f"the replication slot {DATABASE} belongs to the database postgres; use another slot.name" in said
    captured.run("postgres", drop)
    captured.run(DATABASE, create % "test_decoding")
    assert (
        "is a logical slot with the plugin test_decoding; expected a logical slot with the plugin pgoutput"
        in refused(source(captured, "a"))
    )
    captured.run(DATABASE, drop, create % "pgoutput")
    source(captured, "a", more={"startup.mode": "committed-offset"}).require_input()
