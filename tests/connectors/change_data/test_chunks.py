"""Chunks of tables in SQLite: together they cover each table, also if the list of chunks is lost between two calls."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data import options as opt
from seatunnel_core.connectors.change_data.captured_table import captured_table
from seatunnel_core.connectors.change_data.chunk_keys import intervals_of, key_text
from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart
from seatunnel_core.connectors.change_data.shape import require_shape
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect, dialect_of
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.stepped_chunks import SteppedChunks

DECLARED = (*opt.CONNECTION, *opt.TABLES, *opt.CHUNKS, *opt.ROWS)


def given(folder: Path, **more: Any) -> Options:
    values = {"url": f"jdbc:sqlite:{folder}/shop.db", "username": "", "snapshot.split.size": 10, **more}
    return opt.jdbc_options(Options(values, DECLARED))


@pytest.fixture
def dialect(tmp_path: Path) -> Iterator[Dialect]:
    made = dialect_of(address_of(given(tmp_path)), 2)
    with made.pool.lend() as connection:
        for statement in (
            "CREATE TABLE numbers (id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE words (word TEXT PRIMARY KEY, n INTEGER)",
            "CREATE TABLE pairs (word TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (word, n))",
            "CREATE TABLE coded (id VARCHAR NOT NULL, code INTEGER NOT NULL UNIQUE, PRIMARY KEY (id))",
            "CREATE TABLE keyless (id INTEGER, double INTEGER GENERATED ALWAYS AS (id * 2))",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 95) "
            "INSERT INTO numbers SELECT i, 'n' || i FROM n",
            "INSERT INTO words SELECT 'w' || id, id FROM numbers WHERE id <= 35",
        ):
            connection.exec_driver_sql(statement)
        connection.commit()
    yield made
    forget()


def table(dialect: Dialect, folder: Path, name: str, **more: Any) -> Found:
    with dialect.pool.lend() as connection:
        return captured_table(dialect, connection, (name,), given(folder), **more)


def rows_of(dialect: Dialect, found: Found, body: dict[str, Any]) -> list[Any]:
    read = dialect.read(found.statement(body), found.columns, 1000, None)
    with closing(read):
        return [value for each in read for value in each.rows.column(0).to_pylist()]


@pytest.mark.parametrize("most", [1, 3, 1000])
@pytest.mark.parametrize("forgets", [False, True])
def test_chunks_cover_every_row_once(dialect: Dialect, tmp_path: Path, most: int, forgets: bool) -> None:
    tables = [table(dialect, tmp_path, "numbers"), table(dialect, tmp_path, "words")]
    chunks, start = Chunks(tables), ChunkStart()
    read: list[list[Any]] = [[], []]
    number = 0
    while start.table < len(tables):
        if forgets:
            chunks = Chunks(tables)
        with dialect.pool.lend() as connection:
            taken, after = chunks.take(start, most, connection)
        assert 0 < len(taken) <= most
        for each in taken:
            read[each.table] += rows_of(dialect, each.found, each.body())
        number += len(taken)
        start = ChunkStart.from_record(after.record())
    assert read[0] == list(range(1, 96))
    assert sorted(read[1]) == sorted(f"w{i}" for i in range(1, 36))
    assert number >= 13


def test_keys_are_found_in_their_intervals(dialect: Dialect, tmp_path: Path) -> None:
    values: list[Any]
    for name, values in (("numbers", [1, 94, 95, 500, -3, 10]), ("words", ["w1", "w9", "w35", "", "W4", "z", "w2'"])):
        found = table(dialect, tmp_path, name)
        with dialect.pool.lend() as connection:
            chunks, _ = Chunks([found]).take(ChunkStart(), 1000, connection)
            bounds = [str(each.piece.low) for each in chunks[1:]]
            assert found.split_column is not None
            connection.exec_driver_sql(f"DELETE FROM {name}")
            keys = pa.array([*values, None, values[0]])
            order = chunks[0].piece.order
            got = intervals_of(
                dialect, partial(dialect.ask, connection), found.reading.relation, found.split_column, order, bounds,
                keys,
            )  # fmt: skip
            for value, index in zip(values, got, strict=False):
                connection.exec_driver_sql(f"DELETE FROM {name}")
                named = "id" if name == "numbers" else "word"
                literal = str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
                connection.exec_driver_sql(f"INSERT INTO {name} ({named}) VALUES ({literal})")
                holding = [
                    number
                    for number, each in enumerate(chunks)
                    if dialect.ask(connection, found.statement(each.body()))
                ]
                assert holding == [index], value
            assert list(got[-2:]) == [0, got[0]]
    assert found.split_column is not None
    assert list(intervals_of(dialect, _never, "numbers", found.split_column, "", [], pa.array([1, 2]))) == [0, 0]


def _never(statement: str) -> Any:
    raise AssertionError(statement)


def test_keys_are_written_as_databases_write_them() -> None:
    from datetime import date, datetime
    from decimal import Decimal

    assert [key_text(each) for each in (b"\x01", datetime(2020, 1, 2, 3), date(2020, 1, 2), Decimal("1E+3"), 7)] == [
        "\\x01", "2020-01-02 03:00:00", "2020-01-02", "1000", "7",
    ]  # fmt: skip


def test_a_table_needs_a_key(dialect: Dialect, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"keyless has no primary key.*primaryKeys"):
        table(dialect, tmp_path, "keyless")
    configured = Options({"table": "keyless", "primaryKeys": ("id",)}, opt.TABLE_CONFIG.type.entries)
    found = table(dialect, tmp_path, "keyless", configured=configured)
    assert found.schema().primary_key == ("id",)
    assert found.schema().columns.names == ["id"], "the database computes the other one, and the log has none"
    with dialect.pool.lend() as connection:
        chunks, start = Chunks([found]).take(ChunkStart(), 10, connection)
    assert len(chunks) == 1
    assert start.table == 1
    wrong = Options({"table": "keyless", "primaryKeys": ("nr",)}, opt.TABLE_CONFIG.type.entries)
    with pytest.raises(SourceError, match=r"primaryKeys.*no column 'nr'"):
        table(dialect, tmp_path, "keyless", configured=wrong)


def test_another_column_divides_the_table(dialect: Dialect, tmp_path: Path) -> None:
    configured = Options({"table": "pairs", "snapshotSplitColumn": "n"}, opt.TABLE_CONFIG.type.entries)
    found = table(dialect, tmp_path, "pairs", configured=configured)
    assert found.split_column is not None
    assert found.split_column.name == "n"
    with pytest.raises(SourceError, match="pairs has no primary key"):
        table(dialect, tmp_path, "pairs", configured=configured, columns=["word"])


@pytest.mark.parametrize("kind", [Chunks, SteppedChunks])
def test_a_table_is_not_divided_further_by_another_column(dialect: Dialect, tmp_path: Path, kind: type[Chunks]) -> None:
    """The rest of the table is not the one of the first column: rows would be lost and doubled."""

    def divided_by(column: str) -> Chunks:
        configured = Options({"table": "pairs", "snapshotSplitColumn": column}, opt.TABLE_CONFIG.type.entries)
        return kind([table(dialect, tmp_path, "pairs", configured=configured)])

    with dialect.pool.lend() as connection:
        connection.exec_driver_sql("INSERT INTO pairs SELECT word, 100 - n FROM words")
        connection.commit()
    by_word, by_n = divided_by("word"), divided_by("n")
    with dialect.pool.lend() as connection:
        _, start = by_word.take(ChunkStart(), 1, connection)
        start = ChunkStart.from_record(start.record())
        with pytest.raises(SourceChangedError, match=r"split column of pairs has changed .* from word to n; restore"):
            by_n.take(start, 1, connection)
        earlier = {name: value for name, value in start.record().items() if name != "column"}
        assert divided_by("word").take(ChunkStart.from_record(earlier), 1, connection)[0]


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(UsageError, match=r"schema-changes\.enabled"):
        opt.require_supported(Options({"schema-changes.enabled": True}, DECLARED))
    opt.require_supported(Options({}, DECLARED))


def test_another_shape_is_refused_with_its_columns() -> None:
    planned = pa.schema([("id", pa.int64()), ("name", pa.string())])
    require_shape("shop.people", pa.schema(list(planned), metadata={"a": "b"}), planned, "0/17")
    for logged, message in (
        (pa.schema([*planned, ("age", pa.int32())]), "shop.people have changed: age was added; .* at 0/17"),
        (pa.schema([("id", pa.int64())]), "name was removed"),
        (pa.schema([("id", pa.int32()), ("name", pa.string())]), "id was int64 and is now int32"),
        (pa.schema([("name", pa.string()), ("id", pa.int64())]), "their order is different"),
    ):
        with pytest.raises(SourceChangedError, match=message):
            require_shape("shop.people", logged, planned, "0/17")


def test_a_table_is_divided_only_by_columns_of_its_key(dialect: Dialect, tmp_path: Path) -> None:
    """A row that moves to another chunk would be deleted there, too, if its key stayed the same."""
    by_code = Options({"table": "coded", "snapshotSplitColumn": "code"}, opt.TABLE_CONFIG.type.entries)
    with pytest.raises(SourceError, match=r"code is not a key column of coded; expected one of id"):
        table(dialect, tmp_path, "coded", configured=by_code)
    other_key = Options({"table": "numbers", "primaryKeys": ("name",)}, opt.TABLE_CONFIG.type.entries)
    assert table(dialect, tmp_path, "numbers").split_column is not None
    assert table(dialect, tmp_path, "numbers", configured=other_key).split_column is None
