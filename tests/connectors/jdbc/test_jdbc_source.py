"""The source ``Jdbc`` on SQLite: what does not need a server."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import SourceConformance, options_of, plan, read
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import SourceError, UsageError

ROWS = [{"id": number, "name": None if number % 7 == 0 else f"näme {number}", "born": f"2024-01-{1 + number % 28:02d}"}
        for number in range(1, 301)]  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """A database with one table, as a url."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(20), born DATE)")
        database.executemany("INSERT INTO people VALUES (:id, :name, :born)", ROWS)
        database.commit()
    forget()
    return f"jdbc:sqlite:{tmp_path}/shop.db"


def source(url: str, **options: Any) -> JdbcSource:
    return JdbcSource(options_of(JdbcSource, {"url": url, **options}))


def ids(of: JdbcSource, planning: PlanningContext | None = None) -> list[int]:
    planning = planning or PlanningContext(parallelism=2)
    return sorted(row["id"] for row in read(of, plan(of, planning)))


class TestJdbcSource(SourceConformance):
    source_class = JdbcSource

    @pytest.fixture(autouse=True)
    def database(self, shop: str) -> None:
        self.url = shop

    def options(self) -> Mapping[str, Any]:
        return {"url": self.url, "table_path": "people", "split.size": 40, "fetch_size": 7}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        from datetime import date

        return [{**row, "born": date.fromisoformat(str(row["born"]))} for row in ROWS]


@pytest.mark.parametrize(
    ("options", "splits"),
    [
        ({"split.size": 100}, 3),
        ({"split.size": 1000}, 1),
        ({"partition_num": 7}, 7),
        ({"partition_column": "name", "partition_num": 4}, 4),
        ({"partition_column": "born", "partition_num": 4}, 4),
        ({"partition_column": "name", "split.size": 60}, 5),
        ({"split.size": 30, "split.even-distribution.factor.upper-bound": 0.5}, 10),
        ({"split.size": 30, "split.even-distribution.factor.lower-bound": 5}, 10),
    ],
)
def test_a_table_is_divided_and_each_row_is_in_one_split(shop: str, options: dict[str, Any], splits: int) -> None:
    of = source(shop, table_path="people", **options)
    assert len(plan(of, PlanningContext(parallelism=2)).splits) == splits
    assert ids(of) == list(range(1, 301))


def test_a_file_that_is_not_there_is_reported_and_not_made(tmp_path: Path) -> None:
    options = {"url": f"jdbc:sqlite:{tmp_path}/absent.db", "query": "SELECT 1 AS id"}
    with pytest.raises(SourceError, match=r"the file .*/absent\.db does not exist"):
        JdbcSource(options_of(JdbcSource, options)).require_input()
    assert list(tmp_path.iterdir()) == []


def test_who_goes_on_with_another_split_column_reads_by_the_one_of_the_splits(shop: str) -> None:
    first = source(shop, table_path="people", partition_num=3)
    found = plan(first)
    again = source(shop, table_path="people", partition_column="name", partition_num=5)
    assert sorted(row["id"] for row in read(again, found)) == list(range(1, 301))


@pytest.mark.parametrize(("size", "limit", "splits"), [(100, 200, 3), (100, 50, 6), (1000, 100, 3)])
def test_a_speed_limit_makes_splits_smaller_and_never_larger(shop: str, size: int, limit: int, splits: int) -> None:
    of = source(shop, table_path="people", **{"split.size": size})
    assert len(plan(of, PlanningContext(parallelism=2, rows_per_second=limit)).splits) == splits


def test_rows_that_come_after_the_planning_are_in_the_outer_splits(shop: str) -> None:
    of = source(shop, table_path="people", partition_num=3)
    found = plan(of)
    with closing(sqlite3.connect(shop.removeprefix("jdbc:sqlite:"))) as database:
        database.executemany("INSERT INTO people VALUES (?, NULL, NULL)", [(0,), (1000,)])
        database.commit()
    assert sorted(row["id"] for row in read(of, found)) == [*range(301), 1000]


def test_bounds_leave_out_what_is_outside(shop: str) -> None:
    bounds = {"partition_column": "id", "partition_num": 4, "partition_lower_bound": 11, "partition_upper_bound": 40}
    assert ids(source(shop, table_path="people", **bounds)) == list(range(11, 41))
    assert ids(source(shop, table_path="people", **(bounds | {"partition_num": 1}))) == list(range(11, 41))


def test_a_query_is_read_with_a_condition(shop: str) -> None:
    of = source(shop, query="SELECT id, name FROM people WHERE id <= 20 -- the first", where_condition="where id > 5")
    assert ids(of) == list(range(6, 21))
    found = plan(of)
    assert [schema.table for schema in found.schemas] == ["default"]
    assert found.schemas[0].columns.names == ["id", "name"]


def test_a_query_is_divided_by_partition_column(shop: str) -> None:
    of = source(shop, query="SELECT * FROM people", partition_column="id")
    assert len(plan(of, PlanningContext(parallelism=3)).splits) == 3
    assert ids(of) == list(range(1, 301))


def test_several_tables_with_what_stands_beside_them(shop: str) -> None:
    tables = [{"table_path": "people"}, {"table_path": "young", "query": "SELECT id FROM people WHERE id < 9"}]
    of = source(shop, table_list=tables, where_condition="where id > 3", **{"split.size": 100})
    found = plan(of)
    assert {schema.table: schema.columns.names for schema in found.schemas} == {
        "people": ["id", "name", "born"],
        "young": ["id"],
    }
    assert [split.index for split in found.splits] == list(range(len(found.splits)))
    assert len(read(of, found)) == 297 + 5
    assert found.schemas[0].primary_key == ("id",)
    assert found.schemas[1].primary_key == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table_path": "peple"}, "the table peple does not exist in sqlite"),
        ({"table_path": "people", "partition_column": "idd"}, "no column 'idd'; did you mean id?"),
        ({"query": "SELECT nam FROM people"}, "no such column: nam"),
        ({"table_path": "people", "where_condition": "where nam = 1"}, "no such column: nam"),
        ({"table_path": "people", "partition_column": "id", "partition_lower_bound": "x"}, "'x' is not a value of id"),
    ],
)
def test_what_is_wrong_is_said_before_data_moves(shop: str, options: dict[str, Any], said: str) -> None:
    of = source(shop, **options)
    with pytest.raises(SourceError) as caught:
        plan(of)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "postgresql://host/db", "query": "x"}, "option 'url'"),
        ({"url": "jdbc:oracle:thin:@host", "query": "x"}, "jdbc:oracle:, which is not supported"),
        ({"url": "jdbc:postgresql://host", "query": "x"}, "the database is missing"),
        ({"url": "jdbc:postgresql:db", "query": "x"}, "no host"),
        ({"url": "jdbc:postgresql://u:p@host/db", "query": "x"}, "set user and password separately"),
        ({"url": "jdbc:postgresql://a,b/db", "query": "x"}, "several hosts"),
        ({"url": "jdbc:sqlite:", "query": "x"}, "the path of the file"),
        ({"url": "jdbc:postgresql://h/shop", "table_path": "other.public.t"}, "opens shop"),
        ({"url": "jdbc:sqlite:x", "table_path": "t", "where_condition": "id > 1"}, "starts with where"),
        ({"url": "jdbc:sqlite:x", "table_list": [{"table_path": "a"}, {"table_path": "a"}]}, "two entries"),
        ({"url": "jdbc:sqlite:x", "table_list": [{"table_path": "a"}], "table_path": "b"}, "in its entries"),
        ({"url": "jdbc:sqlite:x", "table_list": [{"partition_num": 2}]}, "neither table_path nor query"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        JdbcSource(options_of(JdbcSource, options))
    assert said in str(caught.value)
    assert ":p@" not in str(caught.value)


def test_a_password_is_in_no_text_about_the_database() -> None:
    of = source("jdbc:postgresql://h/shop?password=from-url", query="SELECT 1", user="me")
    address = of._dialect.address
    assert address.password == "from-url"
    secret = f"{address} {address!r} {of.options!r} {address.hide('x from-url y password=from-url')}"
    assert "from-url" not in secret
    assert str(address) == "postgresql h:5432/shop"


def test_a_check_says_what_does_not_hold_after_a_restart(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    from seatunnel_core.cli.main import main

    job = Path(shop.removeprefix("jdbc:sqlite:")).with_name("job.conf")
    job.write_text(f'source {{ Jdbc {{ url = "{shop}", table_path = people }} }}\nsink {{ Console {{ }} }}\n')
    assert main(["-c", str(job), "--check"]) == 0
    said = capsys.readouterr().out
    assert "but: Jdbc-source-1: Exception: tables that change while the job runs" in said
    assert "people: id bigint, name string, born date" in said


def test_options_for_drivers_of_java_are_taken_and_a_note_says_that_they_do_nothing(
    shop: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    from seatunnel_core.cli.main import main

    job = Path(shop.removeprefix("jdbc:sqlite:")).with_name("job.conf")
    options = f'url = "{shop}", driver = "org.sqlite.JDBC"'
    job.write_text(
        f'source {{ Jdbc {{ {options}, table_path = people, "split.string_split_mode" = charset_based }} }}\n'
        f"sink {{ Jdbc {{ {options}, generate_sink_sql = true, table = copy, use_copy_statement = true }} }}\n"
    )
    assert main(["-c", str(job), "--check"]) == 0
    said = " ".join((capsys.readouterr().out + caplog.text).split())
    for option in ("driver", "split.string_split_mode", "use_copy_statement"):
        assert f"{option} has no effect" in said or f"'{option}' has no effect" in said, said


def test_a_value_that_does_not_fit_its_column_is_named(shop: str) -> None:
    with closing(sqlite3.connect(shop.removeprefix("jdbc:sqlite:"))) as database:
        database.execute("UPDATE people SET born = 'yesterday' WHERE id = 17")
        database.commit()
    of = source(shop, table_path="people")
    with pytest.raises(SourceError, match="row 17 with id = 17, column 'born': 'yesterday' does not fit"):
        read(of)
