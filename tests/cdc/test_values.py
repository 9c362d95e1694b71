"""Values: the same from the tables and from the log, and those that the log does not contain."""

from pathlib import Path

import pytest

from tests.cdc.captured import COPY, DATABASES, EACH_KIND, Captured
from tests.cdc.small_job import small_job

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(300)]

POSTGRES = {
    "c_small": ("smallint", "-32768"),
    "c_big": ("bigint", "9223372036854775807"),
    "c_numeric": ("numeric(38, 10)", "-1234567890123456789012345678.0123456789"),
    "c_real": ("real", "1.1"),
    "c_double": ("double precision", "'-Infinity'"),
    "c_text": ("text", "'ä 日本 🐘 \\\\ ''quoted'''"),
    "c_char": ("char(10)", "'x'"),
    "c_bytes": ("bytea", "'\\x00ff10'"),
    "c_bool": ("boolean", "true"),
    "c_date": ("date", "'1582-10-04'"),
    "c_time": ("time(6)", "'23:59:59.999999'"),
    "c_moment": ("timestamp(6)", "'1970-01-01 00:00:00.000001'"),
    "c_zoned": ("timestamptz(6)", "'2024-03-31 02:30:00.5+05:45'"),
    "c_uuid": ("uuid", "'00000000-0000-0000-0000-00000000000f'"),
    "c_json": ("jsonb", '\'{"b": [1, null, "x"], "a": 1.50}\''),
    "c_array": ("int[]", "'{1,NULL,3}'"),
    "c_null": ("int", "NULL"),
}
MYSQL = {
    "c_tiny": ("tinyint", "-128"),
    "c_flag": ("tinyint(1)", "1"),
    "c_big": ("bigint unsigned", "18446744073709551615"),
    "c_decimal": ("decimal(38, 10)", "-1234567890123456789012345678.0123456789"),
    "c_float": ("float", "1.5"),
    "c_double": ("double", "-1.5e300"),
    "c_text": ("text", "'ä 日本 🐘 \\\\ ''quoted'''"),
    "c_latin": ("varchar(20) CHARACTER SET latin1", "'äÖ€'"),
    "c_bytes": ("varbinary(10)", "x'00ff10'"),
    "c_date": ("date", "'1582-10-04'"),
    "c_time": ("time(6)", "'23:59:59.999999'"),
    "c_moment": ("datetime(6)", "'1970-01-01 00:00:00.000001'"),
    "c_stamp": ("timestamp(6) NULL", "'2024-03-31 02:30:00.5'"),
    "c_enum": ("enum('small', 'größer')", "'größer'"),
    "c_set": ("set('a', 'b', 'c')", "'a,c'"),
    "c_year": ("year", "2155"),
    "c_json": ("json", '\'{"b": [1, null, "x"], "a": 1.5}\''),
    "c_bit": ("bit(12)", "b'101'"),
    "c_null": ("int", "NULL"),
}


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


def test_values_of_the_log_are_those_of_the_table(captured: Captured, tmp_path: Path) -> None:
    """Test 12 of the design: the row of the snapshot and the rows of the log become equal rows of the target."""
    columns = POSTGRES if captured.name == "postgres" else MYSQL
    told = ", ".join(f"{name} {type}" for name, (type, _) in columns.items())
    values = ", ".join(value for _, value in columns.values())
    definitions = [f"CREATE TABLE t (id int PRIMARY KEY, {told})", f"INSERT INTO t VALUES (1, {values})"]
    with small_job(captured, tmp_path / "job", definitions) as small:
        engine = small.job.start()
        small.wait(engine, lambda: captured.run(COPY, "SELECT 1") and rows(captured) == 1, "the first row")
        small.source(f"INSERT INTO t VALUES (2, {values})", "INSERT INTO t (id) VALUES (3)")
        changes = ", ".join(f"{name} = {value}" for name, (_, value) in columns.items())
        small.source(f"UPDATE t SET {changes} WHERE id = 3")
        small.wait(engine, lambda: rows(captured) == 3, "the rows of the log")
        small.source("INSERT INTO t (id) VALUES (4)")
        small.wait(engine, lambda: rows(captured) == 4, "the last row")
        chosen = ", ".join(captured.as_text(name) for name in columns)
        first, second, third = captured.run(COPY, f"SELECT {chosen} FROM t WHERE id < 4 ORDER BY id")
        assert dict(zip(columns, second, strict=True)) == dict(zip(columns, first, strict=True))
        assert dict(zip(columns, third, strict=True)) == dict(zip(columns, first, strict=True))
        assert [name for name, value in zip(columns, first, strict=True) if value is None] == ["c_null"]


def rows(captured: Captured) -> int:
    """Return the number of rows of the target; 0 if it does not exist."""
    try:
        return int(captured.run(COPY, "SELECT count(*) FROM t")[0][0])
    except Exception as error:
        if captured.code(error) in ("42P01", 1146):
            return 0
        raise


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_large_values_that_did_not_change_stay(tmp_path: Path, identity: str) -> None:
    """Test 13 of the design: PostgreSQL does not log them."""
    captured = DATABASES["postgres"]()
    definitions = [
        "CREATE TABLE t (id int PRIMARY KEY, number int NOT NULL, large text, other text)",
        "ALTER TABLE t ALTER large SET STORAGE EXTERNAL",
        f"ALTER TABLE t REPLICA IDENTITY {identity}",
        "INSERT INTO t SELECT n, n, repeat('large' || n, 5000), 'x' FROM generate_series(1, 3) AS n",
    ]
    with small_job(captured, tmp_path / "job", definitions) as small:
        engine = small.begin()
        small.source("UPDATE t SET other = 'y' WHERE id = 1", "INSERT INTO t VALUES (4, 4, repeat('new', 5000), 'x')")
        small.source("UPDATE t SET other = 'z' WHERE id IN (1, 4)")
        small.source(
            "UPDATE t SET large = repeat('changed', 5000) WHERE id = 2", "UPDATE t SET other = 'y' WHERE id = 2"
        )
        small.wait_until_equal(engine)
        ((length,),) = small.target("SELECT min(length(large)) FROM t")
        assert length == 15000


def test_an_identity_without_the_key_is_refused_by_name(tmp_path: Path) -> None:
    """A deleted row would not have the key by which the target finds it."""
    definitions = [
        "CREATE TABLE t (id int PRIMARY KEY, number int NOT NULL)",
        "CREATE UNIQUE INDEX t_index ON t (number)",
        "ALTER TABLE t REPLICA IDENTITY USING INDEX t_index",
    ]
    with small_job(DATABASES["postgres"](), tmp_path / "job", definitions) as small:
        done = small.command("--check")
        assert done.returncode != 0
        assert "small.public.t" in done.stdout + done.stderr
        assert "REPLICA IDENTITY" in done.stdout + done.stderr
