"""Selected and masked columns: the same rows from the tables and from the log, and other columns may change."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from tests.cdc.captured import COPY, DATABASES, EACH_KIND, Captured, CapturedMariaDB, CapturedPostgres
from tests.cdc.small_job import SmallJob, small_job
from tests.servers.mysql_server import GTIDS, LoggingMariaDB, LoggingMySQL

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(300)]

SALT = "pepper.and salt"
TEXTS = {
    "postgres": {"a": "text", "b": "varchar(40)", "c": "char(4)"},
    "mysql": {
        "a": "longtext CHARACTER SET utf8mb4",
        "b": "varchar(40) CHARACTER SET utf8mb4",
        "c": "char(4) CHARACTER SET latin1",
    },
}
VALUES = {"a": "日本🐘 ä", "b": "", "c": "äöüß"}
"""A text of each column, with characters of several bytes, and of two units in UTF-16."""

MASKS = f"""
    debezium {{
      "column.mask.with.3.chars" = ".*\\\\.t\\\\.(hidden_.|moment)"
      "column.truncate.to.2.chars" = ".*\\\\.t\\\\.cut_."
      "column.mask.hash.v2.SHA-256.with.salt.{SALT}" = ".*\\\\.t\\\\.(hashed_.|number)"
      "column.exclude.list" = ".*\\\\.t\\\\.unused"
    }}"""

Row = dict[str, Any]


def hashed(value: object) -> str:
    return sha256(f"{SALT}{value}".encode()).hexdigest()


EXPECTED: dict[str, Callable[[str], str]] = {
    "hidden": lambda _: "***",
    "cut": lambda value: value[:2],
    "hashed": hashed,
}


@define
class LoggingMariaDBWithNames(LoggingMariaDB):
    """MariaDB whose log has the names of columns."""

    settings: Sequence[str] = field(factory=lambda: ("--binlog-row-metadata=FULL",), kw_only=True)


@define
class LoggingMySQLWithNames(LoggingMySQL):
    """MySQL whose log has the names of columns."""

    settings: Sequence[str] = field(factory=lambda: (*GTIDS, "--binlog-row-metadata=FULL"), kw_only=True)


class CapturedMariaDBWithNames(CapturedMariaDB):
    kind = LoggingMariaDBWithNames


class CapturedMySQLWithNames(CapturedMariaDB):
    kind = LoggingMySQLWithNames


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


@pytest.fixture(
    params=[CapturedPostgres, CapturedMariaDBWithNames, pytest.param(CapturedMySQLWithNames, marks=pytest.mark.twin)]
)
def naming(request: pytest.FixtureRequest) -> Captured:
    """A database whose log has the names of columns."""
    found: Captured = request.param()
    return found


def target_rows(small: SmallJob, columns: str) -> list[tuple[Any, ...]]:
    return small.target_rows(f"SELECT {columns} FROM t ORDER BY id")


def inserted(number: int, columns: Sequence[str]) -> str:
    """Return the statement that inserts a row."""
    values = [f"'{VALUES[name[-1]]}'" for name in columns]
    return (
        f"INSERT INTO t (id, number, moment, unused, {', '.join(columns)}) "
        f"VALUES ({number}, {-number}, '2024-01-01 00:00:00', 'x', {', '.join(values)})"
    )


def test_masks_and_excluded_columns(captured: Captured, tmp_path: Path) -> None:
    types = TEXTS["postgres" if captured.name == "postgres" else "mysql"]
    columns = {f"{mask}_{name}": kind for mask in EXPECTED for name, kind in types.items()}
    told = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    definitions = [
        f"CREATE TABLE t (id int PRIMARY KEY, number bigint, moment timestamp NULL, unused text, {told})",
        inserted(1, list(columns)),
    ]
    asked = ", ".join(("id", "number", "moment", *columns))
    masked = [EXPECTED[name[:-2]](VALUES[name[-1]]) for name in columns]
    with small_job(captured, tmp_path / "job", definitions, source_options=MASKS) as small:
        engine = small.job.start()
        small.wait(engine, lambda: len(target_rows(small, "id")) == 1, "the first row")
        small.source("UPDATE t SET unused = 'y'", inserted(2, list(columns)), "INSERT INTO t (id) VALUES (3)")
        small.source("INSERT INTO t (id) VALUES (4)", "UPDATE t SET number = 7, cut_a = '日本語' WHERE id = 4")
        small.source("INSERT INTO t (id) VALUES (5)", "DELETE FROM t WHERE id = 5")
        last = (4, hashed(7))
        small.wait(engine, lambda: target_rows(small, "id, number")[3:] == [last], "the rows of the log")
        found = target_rows(small, asked)
        assert [list(row) for row in found[:2]] == [[n, hashed(-n), "***", *masked] for n in (1, 2)]
        assert set(found[2][1:]) == {None}
        assert found[3][list(columns).index("cut_a") + 3] == "日本"
        with_columns = small.captured.connect(COPY)
        assert small.captured.columns(with_columns, "t") == sorted(("id", "number", "moment", *columns))
        with_columns.close()
        checked = small.command("--check")
        assert SALT not in engine.output + checked.stdout + checked.stderr


def test_changes_of_columns_that_are_not_selected(naming: Captured, tmp_path: Path) -> None:
    definitions = [
        "CREATE TABLE t (first int, id int PRIMARY KEY, name varchar(20), other int)",
        "INSERT INTO t VALUES (1, 1, 'a', 1)",
    ]
    chosen = 'table-names-config = [{ table = "t", columns = [id, name] }]'
    with small_job(naming, tmp_path / "job", definitions, source_options=chosen) as small:
        engine = small.job.start()
        small.wait(engine, lambda: target_rows(small, "id, name") == [(1, "a")], "the first row")
        small.source(
            "INSERT INTO t VALUES (2, 2, 'b', 2)",
            "ALTER TABLE t DROP COLUMN first",
            "INSERT INTO t VALUES (3, 'c', 3)",
            "ALTER TABLE t ADD COLUMN later varchar(9) DEFAULT 'x', DROP COLUMN other",
            "UPDATE t SET later = 'y', name = 'bb' WHERE id = 2",
        )
        small.wait(engine, lambda: target_rows(small, "id, name") == [(1, "a"), (2, "bb"), (3, "c")], "later rows")
        assert small.job.stop(60) == 130
        small.source("ALTER TABLE t ADD COLUMN latest int", "INSERT INTO t VALUES (4, 'd', 'z', 4)")
        engine = small.job.start()
        small.wait(engine, lambda: target_rows(small, "id, name")[3:] == [(4, "d")], "the row after a restart")
        connection = naming.connect(COPY)
        assert naming.columns(connection, "t") == ["id", "name"]
        connection.close()
        small.source("ALTER TABLE t ALTER COLUMN name TYPE text" if naming.name == "postgres" else "ALTER TABLE t "
                     "MODIFY name varchar(30)", "ALTER TABLE t DROP COLUMN name",
                     "INSERT INTO t (id) VALUES (5)")  # fmt: skip
        engine.wait(60)
        assert "COLUMNS-CHANGED" in engine.output, engine.output[-4000:]
        assert "name" in engine.output


def test_a_listed_column_that_is_dropped(tmp_path: Path) -> None:
    definitions = ["CREATE TABLE t (id int PRIMARY KEY, name varchar(20))", "INSERT INTO t VALUES (1, 'a')"]
    chosen = 'table-names-config = [{ table = "t", columns = [id, name] }]'
    with small_job(CapturedPostgres(), tmp_path / "job", definitions, source_options=chosen) as small:
        engine = small.begin()
        small.source("INSERT INTO t VALUES (2, 'b')", "ALTER TABLE t DROP COLUMN name", "INSERT INTO t VALUES (3)")
        assert engine.wait(60) != 0
        assert "COLUMNS-CHANGED" in engine.output, engine.output[-4000:]
        assert target_rows(small, "id, name") == [(1, "a"), (2, "b")]
        small.target("ALTER TABLE t DROP COLUMN name")
        engine = small.job.start()
        assert engine.wait(60) != 0
        assert "has no column 'name'" in engine.output, engine.output[-4000:]
        small.job.source_options = chosen.replace(", name", "")
        small.job.write()
        small.begin()


def test_a_log_without_names_stops_at_a_change_of_columns(tmp_path: Path) -> None:
    definitions = ["CREATE TABLE t (id int PRIMARY KEY, name varchar(20), other int, more int)"]
    chosen = 'table-names-config = [{ table = "t", columns = [id, name] }]'
    with small_job(DATABASES["mariadb"](), tmp_path / "job", definitions, source_options=chosen) as small:
        engine = small.job.start()
        small.source("INSERT INTO t VALUES (1, 'a', 1, 1)")
        small.wait(engine, lambda: target_rows(small, "id, name") == [(1, "a")], "the first row")
        small.source("ALTER TABLE t DROP COLUMN other, ADD COLUMN last int", "INSERT INTO t VALUES (2, 'b', 2, 2)")
        assert engine.wait(60) != 0
        assert "DROP COLUMN other" in engine.output
        assert target_rows(small, "id") == [(1,)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ('table-names-config = [{ table = "t", columns = [name] }]', "column id is part of the key"),
        ('table-names-config = [{ table = "t", columns = [id, nam] }]', "did you mean name?"),
        ('debezium { "column.mask.with.3.chars" = ".*t.id" }', "applies to a key column"),
        ('debezium { "column.mask.with.3.chars" = ".*t.nam" }', "matches no selected column"),
        ('debezium { "column.truncate.to.3.chars" = ".*t.number" }', "only strings can be truncated"),
        (f'debezium {{ "column.mask.hash.v2.MD5.with.salt.{SALT}" = ".*t.name" }}', "with.salt.*** is not supported"),
    ],
)
def test_rejected_choices(tmp_path: Path, options: str, said: str) -> None:
    definitions = ["CREATE TABLE t (id int PRIMARY KEY, name varchar(20), number int)"]
    with small_job(DATABASES["mariadb"](), tmp_path / "job", definitions, source_options=options) as small:
        done = small.command("--check")
        assert done.returncode != 0
        assert said in done.stdout + done.stderr
        assert SALT not in done.stdout + done.stderr
