"""What ``--check`` says about a server, and that its statements help."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connectors.change_data.options import TABLE_CONFIG
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.postgres_cdc.options import SOURCE_OPTIONS
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from tests.cdc.captured import CapturedPostgres
from tests.cdc.storm import wait_until

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
DATABASE, READER = "cdc_check", "cdc_reader"
PLANNING = PlanningContext(parallelism=1)
SLOTS = f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{DATABASE}'"


@pytest.fixture
def captured() -> Iterator[CapturedPostgres]:
    made = CapturedPostgres()
    made.release(DATABASE)
    made.recreate(DATABASE)
    made.run(
        DATABASE,
        f"DROP ROLE IF EXISTS {READER}",
        f"CREATE ROLE {READER} LOGIN PASSWORD 'reader'",
        "CREATE TABLE a (id int PRIMARY KEY, name text, double int GENERATED ALWAYS AS (id * 2) STORED)",
        "CREATE TABLE b (id int, name text)",
        "CREATE SCHEMA deep",
        "CREATE TABLE deep.c (id int PRIMARY KEY, nr int NOT NULL UNIQUE)",
        "ALTER TABLE deep.c REPLICA IDENTITY USING INDEX c_nr_key",
    )
    yield made
    forget()
    made.release(DATABASE)
    made.run("postgres", f"DROP DATABASE {DATABASE} WITH (FORCE)", f"DROP ROLE {READER}")


def source(
    captured: CapturedPostgres, *tables: str, reader: bool = False, more: Mapping[str, Any] | None = None
) -> PostgresCdcSource:
    server = captured.server.options(DATABASE)
    user = {"username": READER, "password": "reader"} if reader else {**server, "username": server["user"]}
    user.pop("user", None)
    given = {**user, "url": server["url"], "table-names": tables, "slot.name": DATABASE}
    return PostgresCdcSource(Options({**given, **(more or {})}, SOURCE_OPTIONS))


def refused(made: PostgresCdcSource) -> str:
    with pytest.raises(SourceError) as raised:
        made.require_input()
    return str(raised.value)


def test_missing_rights_are_named_with_their_statements(captured: CapturedPostgres) -> None:
    said = refused(source(captured, "a", "c", reader=True))
    statements = (
        f'GRANT SELECT ON "public"."a" TO "{READER}"',
        f'GRANT USAGE ON SCHEMA "deep" TO "{READER}"',
        f'GRANT SELECT ON "deep"."c" TO "{READER}"',
        f'ALTER ROLE "{READER}" REPLICATION',
        f'CREATE PUBLICATION "{DATABASE}" FOR TABLE "deep"."c", "public"."a" WITH (publish_via_partition_root = true)',
    )
    for statement in statements:
        assert f"run {statement}" in said
        captured.run(DATABASE, statement)
    said = refused(source(captured, "a", "c", reader=True))
    assert said == (
        f'old rows of {DATABASE}.deep.c do not contain its key (id); run ALTER TABLE "deep"."c" REPLICA IDENTITY FULL'
    )
    captured.run(DATABASE, 'ALTER TABLE "deep"."c" REPLICA IDENTITY FULL')
    made = source(captured, "a", "c", reader=True)
    made.require_input()
    assert made.planned_reading() == [
        f"captures 2 tables: {DATABASE}.deep.c, {DATABASE}.public.a",
        f"the publication {DATABASE} exists",
        f"the replication slot {DATABASE} does not exist, and will be created",
    ]


def test_a_limit_of_the_log_is_reported(captured: CapturedPostgres) -> None:
    """The limit is larger than the disk, so that slots of other tests keep their log."""

    def notes() -> list[str]:
        return [each for each in source(captured, "a").planned_reading() if "max_slot_wal_keep_size" in each]

    assert notes() == []
    try:
        captured.run(DATABASE, "ALTER SYSTEM SET max_slot_wal_keep_size = '1TB'")
        captured.run(DATABASE, "SELECT pg_reload_conf()")
        wait_until(notes, 30, "the new setting")
        (note,) = notes()
        assert note.startswith("the server keeps at most 1,099,511,627,776 bytes of log for a slot")
        assert "ALTER SYSTEM SET max_slot_wal_keep_size = -1 and SELECT pg_reload_conf()" in note
    finally:
        captured.run(DATABASE, "ALTER SYSTEM RESET max_slot_wal_keep_size")
        captured.run(DATABASE, "SELECT pg_reload_conf()")
    wait_until(lambda: not notes(), 30, "the old setting")


def test_nothing_is_created_by_a_check(captured: CapturedPostgres) -> None:
    (schema,) = source(captured, "a").planned_schemas()
    assert schema.columns.names == ["id", "name"], "the log does not have generated columns"
    assert captured.run(DATABASE, "SELECT 1 FROM pg_publication") == []
    assert captured.run(DATABASE, f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{DATABASE}'") == []


def test_tables_without_a_key_are_refused(captured: CapturedPostgres) -> None:
    assert "updates and deletes of public.b cannot be published" in refused(source(captured, "b"))
    captured.run(DATABASE, "ALTER TABLE b REPLICA IDENTITY FULL")
    assert f"the table {DATABASE}.public.b has no primary key" in refused(source(captured, "b"))
    entry = Options({"table": "b", "primaryKeys": ("id",)}, TABLE_CONFIG.type.entries)
    source(captured, "b", more={"table-names-config": (entry,)}).require_input()


def test_full_rows_may_be_required(captured: CapturedPostgres) -> None:
    said = refused(source(captured, "a", more={"require-replica-identity-full": True}))
    assert 'do not contain all columns; run ALTER TABLE "public"."a" REPLICA IDENTITY FULL' in said


def test_a_column_that_an_index_only_includes_is_missing_in_old_rows(captured: CapturedPostgres) -> None:
    captured.run(DATABASE, "ALTER TABLE b ADD PRIMARY KEY (id) INCLUDE (name)")
    for keys, is_missing in ((("id",), False), (("id", "name"), True)):
        entry = Options({"table": "b", "primaryKeys": keys}, TABLE_CONFIG.type.entries)
        made = source(captured, "b", more={"table-names-config": (entry,)})
        if is_missing:
            assert 'do not contain its key (id, name); run ALTER TABLE "public"."b" REPLICA IDENTITY' in refused(made)
        else:
            made.require_input()


def test_a_deferrable_primary_key_is_no_replica_identity(captured: CapturedPostgres) -> None:
    """The publication would make every UPDATE and DELETE of the table fail."""
    captured.run(DATABASE, "ALTER TABLE b ADD PRIMARY KEY (id) DEFERRABLE")
    assert "updates and deletes of public.b cannot be published" in refused(source(captured, "b"))
    captured.run(DATABASE, "ALTER TABLE b REPLICA IDENTITY FULL")
    source(captured, "b").require_input()


def test_a_partition_with_a_deferrable_primary_key_is_rejected(captured: CapturedPostgres) -> None:
    captured.run(
        DATABASE,
        "CREATE TABLE parts (id int PRIMARY KEY, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE low (id int PRIMARY KEY DEFERRABLE, name text)",
        "ALTER TABLE parts ATTACH PARTITION low FOR VALUES FROM (0) TO (5)",
    )
    said = refused(source(captured, "parts"))
    assert "the partition low of cdc_check.public.parts do not contain its key (id); run ALTER TABLE low" in said


def test_a_slot_that_has_to_exist_does_not(captured: CapturedPostgres) -> None:
    said = "committed-offset continues the replication slot cdc_check, which does not"
    with (
        closing(source(captured, "a", more={"startup.mode": "committed-offset"})) as made,
        pytest.raises(SourceError, match=said),
    ):
        made.poll({}, PLANNING)


def test_a_job_starts_again_before_its_first_checkpoint(captured: CapturedPostgres) -> None:
    """A process that was killed has left a slot and a publication; the next one also captures another table."""
    with closing(source(captured, "a")) as made:
        first = made.poll({}, PLANNING)
    assert len(first.items) == 1
    captured.run(DATABASE, "ALTER TABLE deep.c REPLICA IDENTITY DEFAULT", "INSERT INTO deep.c VALUES (1, 1)")
    with closing(source(captured, "a", "c")) as made:
        second = made.poll({}, PLANNING)
    assert len(second.items) == 2
    assert Lsn.parse(second.cursor["log"]) > Lsn.parse(first.cursor["log"])


def test_an_open_transaction_delays_the_snapshot(captured: CapturedPostgres) -> None:
    """It may be committed in the log already, where nobody sees it yet."""
    made = source(captured, "a")
    made.poll({}, PLANNING)
    made.close()
    with captured.connect(DATABASE) as writer, writer.transaction():
        writer.execute("INSERT INTO a (id) VALUES (1)")
        again = source(captured, "a")
        waiting = again.poll({}, PLANNING)
        assert (waiting.items, waiting.again_ms) == ((), 300)
        assert (waiting.warnings, again.poll(waiting.cursor, PLANNING).items) == ((), ())
        again._delay.patience_s = 0
        (warning,) = again.poll(waiting.cursor, PLANNING).warnings
        assert "the snapshot of the tables waits until open transactions have ended; the oldest: " in warning
        assert f"process {writer.info.backend_pid} of the server" in warning
        assert again.poll(waiting.cursor, PLANNING).warnings == (), "it is said once"
    found = again.poll(waiting.cursor, PLANNING)
    assert len(found.items) == 1
    again.close()


def test_changes_from_now_on_begin_behind_transactions_that_the_publication_lacks_in_part(
    captured: CapturedPostgres,
) -> None:
    """Rows that a transaction has written before the publication had their table are not sent, but later ones are."""
    with closing(source(captured, "a")) as made:
        made.poll({}, PLANNING)
    with (
        captured.connect(DATABASE) as writer,
        closing(source(captured, "a", "c", more={"startup.mode": "latest"})) as made,
    ):
        captured.run(DATABASE, "ALTER TABLE deep.c REPLICA IDENTITY DEFAULT")
        pid = writer.info.backend_pid
        with writer.transaction():
            writer.execute("INSERT INTO deep.c VALUES (1, 1)")
            waiting = made.poll({}, PLANNING)
            assert (waiting.items, waiting.cursor) == ((), {}), "and it can be stopped"
            (warning,) = waiting.warnings
            assert f"waits until these open transactions have ended (oldest first): process {pid} of" in warning
            assert made.poll({}, PLANNING).warnings == (), "it is said once"
            writer.execute("INSERT INTO deep.c VALUES (2, 2)")
            end = captured.run(DATABASE, "SELECT pg_current_wal_lsn()::text")[0][0]
        found = made.poll({}, PLANNING)
        assert Lsn.parse(found.cursor["log"]) > Lsn.parse(end)


def test_a_slot_that_waits_for_open_transactions_can_be_given_up(captured: CapturedPostgres) -> None:
    """Its creation blocked the driver before, and Ctrl-C had no effect."""
    with captured.connect(DATABASE) as writer:
        with writer.transaction(), closing(source(captured, "a")) as made:
            writer.execute("INSERT INTO a (id) VALUES (1)")
            waiting = made.poll({}, PLANNING)
            assert (waiting.items, waiting.cursor) == ((), {})
            assert f"process {writer.info.backend_pid} of the server" in waiting.warnings[0]
            made.close()
            wait_until(lambda: not captured.run(DATABASE, SLOTS), 30, "the server gives up the slot")
        with closing(source(captured, "a")) as made:
            assert len(made.poll({}, PLANNING).items) == 1


def test_another_server_is_refused(captured: CapturedPostgres) -> None:
    made = source(captured, "a")
    cursor = dict(made.poll({}, PLANNING).cursor)
    made.close()
    with pytest.raises(SourceError, match="is not the database cluster with which the job started"):
        made.poll({**cursor, "server": "1"}, PLANNING)
    with pytest.raises(SourceError, match=r"cdc_check.public.gone was captured when the job started"):
        source(captured, "a").poll({**cursor, "tables": [["cdc_check.public.gone", "x"]]}, PLANNING)
    with pytest.raises(SourceError, match=r"cdc_check\.public\.a changed while the tables were being copied"):
        source(captured, "a").poll({**cursor, "tables": [["cdc_check.public.a", "x"]]}, PLANNING)
