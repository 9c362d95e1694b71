"""Text keys of tables in MySQL 8.0 and 5.7, whose collations differ from MariaDB's."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import commit, place, sink_place, stage
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.servers.mysql import MySQL, MySQL57
from tests.servers.shared import shared

pytestmark = [pytest.mark.servers, pytest.mark.twin]

KEYS = ["a", "A", "a ", "ä", "b"]


@pytest.fixture(params=[MySQL, MySQL57], ids=["8.0", "5.7"])
def server(request: pytest.FixtureRequest) -> Iterator[MySQL]:
    found: MySQL = shared(request.param)
    found.empty()
    yield found
    forget()


def load(server: MySQL, job: str, **options: Any) -> None:
    rows = pa.RecordBatch.from_pydict({"k": KEYS, "n": [1, 2, 3, 4, 5]})
    schema = TableSchema(table="t", columns=rows.schema, primary_key=("k",))
    of = JdbcSink(options_of(JdbcSink, {**server.options(), "table": "people", **options}))
    here = place(job_id=job)
    of.prepare(sink_place(here))
    commit(of, [stage(of, schema, [rows], here)], here)
    of.complete(sink_place(here))


def keys(server: MySQL) -> list[str]:
    return sorted(name for (name,) in server.run("SELECT k FROM people"))


def pads(server: MySQL) -> bool:
    """Whether the server has no binary collation for utf8mb4 in which spaces at the end count."""
    asked = "SELECT 1 FROM information_schema.COLLATIONS WHERE COLLATION_NAME = 'utf8mb4_0900_bin'"
    return not server.run(asked)  # MySQL has it since 8.0.17


def test_a_merge_compares_new_keys_by_their_bytes(server: MySQL, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING"):
        load(server, "a", write_mode="merge", merge_key="k")
    (made,) = server.run("SHOW CREATE TABLE people")
    if pads(server):
        assert "COLLATE utf8mb4_bin NOT NULL" in made[1]
        assert len(keys(server)) == 4
        assert "1 row of the table shop.people merged into a row with a different key" in caplog.text
    else:
        assert "COLLATE utf8mb4_0900_bin NOT NULL" in made[1]
        assert keys(server) == sorted(KEYS)
        assert "merged" not in caplog.text
    load(server, "b", write_mode="merge", merge_key="k")
    assert len(keys(server)) == len(KEYS) - pads(server)


def test_a_replaced_table_has_every_row_or_the_old_ones(server: MySQL) -> None:
    """Where spaces at the end do not count, the database refuses the second row of a key."""
    for job in ("a", "b"):
        if pads(server):
            with pytest.raises(SinkError, match="Duplicate entry 'a ' for key 'PRIMARY'"):
                load(server, job, write_mode="replace")
            assert keys(server) == []
        else:
            load(server, job, write_mode="replace")
            assert keys(server) == sorted(KEYS)


def test_rows_that_an_existing_collation_merges_are_counted(server: MySQL, caplog: pytest.LogCaptureFixture) -> None:
    server.run("CREATE TABLE people (k varchar(20) PRIMARY KEY, n int) COLLATE utf8mb4_general_ci")
    server.run("INSERT INTO people VALUES ('B', 0)")
    with caplog.at_level("WARNING"):
        load(server, "a", write_mode="merge", merge_key="k")
    assert len(keys(server)) == 2
    assert "4 rows of the table shop.people merged into a row with a different key" in caplog.text


@pytest.mark.parametrize("options", [{"primary_keys": ["k"]}, {"primary_keys": ["k"], "is_exactly_once": True}])
def test_keys_replace_rows_with_a_temporary_table_and_with_a_staged_one(server: MySQL, options: Any) -> None:
    server.run("CREATE TABLE people (k varchar(20) PRIMARY KEY, n int) COLLATE utf8mb4_bin")
    server.run("INSERT INTO people VALUES ('b', 0)")
    if isinstance(server, MySQL57) and "is_exactly_once" not in options:
        with pytest.raises(SinkError, match=r"MySQL 5\.7.* has no window functions.*write is_exactly_once = true"):
            load(server, "a", generate_sink_sql=True, **options)
        return
    load(server, "a", generate_sink_sql=True, **options)
    assert server.run("SELECT n FROM people WHERE k = 'b'") == [(5,)]


def test_versions_are_kept(server: MySQL) -> None:
    for job in ("a", "b"):
        load(server, job, write_mode="merge", merge_key="k", keep_history=True)
    assert len(keys(server)) == len(KEYS) - pads(server)
