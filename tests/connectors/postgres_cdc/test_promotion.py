"""A standby that was promoted is refused, because its slot cannot show what is missing."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.postgres_cdc.options import SOURCE_OPTIONS
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from tests.connectors.postgres_log.log_shop import LogPostgres
from tests.servers.postgres import Postgres
from tests.servers.standby import Standby

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]
PLANNING = PlanningContext(parallelism=1)


@pytest.fixture
def primary() -> Iterator[LogPostgres]:
    found = LogPostgres()
    with closing(_Stopped(found)):
        found.start()
        yield found
    forget()


class _Stopped:
    """Stops a server on ``close``."""

    def __init__(self, server: Postgres) -> None:
        self.close = server.stop


def run(server: Postgres, *statements: str) -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        for each in statements:
            found = connection.execute(each)
        return found.fetchall() if found.description else []


def source(server: Postgres) -> PostgresCdcSource:
    given = server.options()
    options = {"url": given["url"], "username": given["user"], "password": given["password"], "slot.name": "copy"}
    return PostgresCdcSource(Options({**options, "table-names": ["postgres.public.t"]}, SOURCE_OPTIONS))


def test_a_promoted_standby_is_refused(primary: LogPostgres) -> None:
    run(primary, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    standby = Standby(primary=primary)
    with closing(_Stopped(standby)):
        standby.start()
        made = source(primary)
        schemas = made.planned_schemas()
        cursor = dict(made.poll({}, PLANNING).cursor)
        made.require_readable(cursor, ())
        standby.kill()
        for number in range(2, 200):
            run(primary, f"INSERT INTO t VALUES ({number})")
        ((read,),) = run(primary, "SELECT pg_current_wal_flush_lsn()::text")
        cursor = {**cursor, "log": read}
        made.require_readable(cursor, ())
        made.close()
        primary.kill()
        standby.start_again()
        standby.promote()
        # A slot of the same name would silently skip the rows that are inserted now.
        run(standby, "SELECT pg_create_logical_replication_slot('copy', 'pgoutput')", "INSERT INTO t VALUES (1000)")
        ((is_behind,),) = run(standby, f"SELECT pg_current_wal_lsn() < '{read}'")
        assert is_behind
        with closing(source(standby)) as again:
            attempts = (
                lambda: again.require_readable(cursor, ()),
                lambda: again.restored_schemas(cursor, schemas),
                lambda: again.poll(cursor, PLANNING),
            )
            for attempt in attempts:
                with pytest.raises(
                    SourceChangedError,
                    match=r"is on the timeline 2, but .* on the timeline 1: a standby was promoted.*start a new job",
                ):
                    attempt()
