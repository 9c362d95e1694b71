"""Images of rows in MySQL and MariaDB: values that differ in a bit, and values of many bytes."""

from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
import pytest

from seatunnel_core.connectors.jdbc.databases.mysql_images import row_image
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.tables.database import TableColumn
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database
from tests.connectors.jdbc.sink_units import GONE, batch, write
from tests.servers.mariadb import MariaDB
from tests.servers.mysql import MySQL
from tests.servers.shared import shared

pytestmark = pytest.mark.servers
SCHEMA = TableSchema(table="shop.notes", columns=pa.schema([("flags", pa.string())]))


@pytest.fixture(params=["mariadb", pytest.param("mysql", marks=pytest.mark.twin)])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    server = shared(MariaDB if request.param == "mariadb" else MySQL)
    server.empty()
    forget()
    yield Database("mysql", server.options(), server)
    forget()


def test_sets_that_differ_in_one_of_many_members(database: Database) -> None:
    """As a double, a set of 64 members does not have its lowest bits."""
    members = ", ".join(f"'m{number}'" for number in range(64))
    database.run(f"CREATE TABLE notes (flags SET({members}))")
    database.run("INSERT INTO notes VALUES ('m0,m63'), ('m1,m63'), ('m63')")
    sink = database.sink(table="notes", write_mode="merge", match_whole_rows=True)
    write(sink, batch((GONE, "m1,m63"), schema=SCHEMA), schema=SCHEMA)
    assert sorted(database.run("SELECT flags FROM notes")) == [("m0,m63",), ("m63",)]


def test_geometries_of_many_bytes(database: Database) -> None:
    """In hexadecimal, they may exceed ``max_allowed_packet``."""
    image = row_image([(TableColumn(name="shape", declared="geometry"), "shape")])
    with closing(database.server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@max_allowed_packet")
        ((most,),) = cursor.fetchall()
        points = min(most * 5 // 8 // 16, 600_000)
        cursor.execute("CREATE TEMPORARY TABLE shapes (shape geometry)")
        for last in ("00" * 16, "00" * 15 + "40"):
            count = (points + 1).to_bytes(4, "little").hex()
            line = f"UNHEX('0102000000{count}'), REPEAT(UNHEX('{'00' * 16}'), {points}), UNHEX('{last}')"
            cursor.execute(f"INSERT INTO shapes VALUES (ST_GeomFromWKB(CONCAT({line})))")
        cursor.execute(f"SELECT count(*), count(HEX(shape)), count(DISTINCT {image}) FROM shapes")
        ((rows, short, different),) = cursor.fetchall()
        assert (rows, different) == (2, 2)
        assert short == (0 if most < points * 32 else 2)
