"""Rows without a key: each change applies to one row of the table that is equal in all columns."""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing.drive import begin, commit, place, sink_place
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink
from tests.connectors.jdbc.databases import Database, empty
from tests.connectors.jdbc.sink_units import AFTER, BEFORE, GONE, NEW, batch, stage_of, write
from tests.servers.mysql import MySQL, MySQL57
from tests.servers.shared import shared

Row = tuple[Any, ...]
COLUMNS = pa.schema(
    [("n", pa.int64()), ("name", pa.string()), ("amount", pa.float64()), ("small", pa.float32()), ("raw", pa.binary())]
)
SCHEMA = TableSchema(table="shop.notes", columns=COLUMNS)
WHOLE = {"write_mode": "merge", "match_whole_rows": True}
TEXTS = [None, "", "a", "A", "a ", "ä", "-", "a,b", '"', "\\", "NULL"]
FLOATS = [None, 0.0, -0.0, 0.1, 0.1 + 2**-56, 1e300, 5e-324]
SMALL = [None, 0.0, -0.0, 0.10000000149011612, 0.10000000894069672, 9.999999680285692e37]
RAW = [None, b"", b"a", b"a ", b"\\x61", b"\xff\x00"]

SERVERS = pytest.mark.servers
KINDS = [
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=SERVERS),
    pytest.param("mariadb", marks=SERVERS),
    pytest.param("mysql", marks=[SERVERS, pytest.mark.twin]),
]


class Target:
    """A database, the sink that writes to it, and its rows."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.database: Database | None = None
        if kind == "mysql":
            server = shared(MySQL)
            server.empty()
            forget()
            self.database = Database("mysql", server.options(), server)
        elif kind != "duckdb":
            self.database = empty("mysql" if kind == "mariadb" else kind, folder)

    def sink(self, **more: Any) -> Sink:
        options = {"table": "notes", **WHOLE, **more}
        return duckdb_sink(self.folder, **options) if self.database is None else self.database.sink(**options)

    def run(self, statement: str) -> None:
        if self.database is None:
            changed(self.folder, statement)
        else:
            self.database.run(statement)

    def rows(self, names: str = "n, name, amount, small, raw") -> Sequence[Row]:
        if self.kind in ("mariadb", "mysql", "postgresql"):  # a float as it is, with all digits
            names = names.replace("small", "CAST(small AS float8)" if self.kind == "postgresql" else "small * 1E0")
        asks: Callable[[str], Sequence[Any]] = self.database.run if self.database else lambda s: asked(self.folder, s)
        return [
            tuple(bytes(v) if isinstance(v, memoryview) else v for v in row)
            for row in asks(f"SELECT {names} FROM notes")
        ]


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    yield Target(request.param, tmp_path)
    forget()


def exact(rows: Sequence[Row]) -> Counter[str]:
    """Count equal rows, in which -0.0 is not 0.0 and NaN is NaN."""
    return Counter(map(repr, rows))


def notes(*rows: Row) -> Batch:
    return batch(*rows, schema=SCHEMA)


def note(name: str | None, n: int = 1) -> Row:
    return n, name, None, None, b"x"


def put(target: Target, *batches: Batch, unit: int = 1, **more: Any) -> None:
    write(target.sink(**more), *batches, schema=SCHEMA, unit=unit)


def floats_of(kind: str) -> tuple[list[float | None], list[float | None]]:
    """Return values of both types of floats that a database has."""
    floats, small = [*FLOATS], [*SMALL]
    if kind in ("postgresql", "duckdb"):
        return [*floats, math.nan, math.inf], [*small, math.nan, -math.inf]
    if kind in ("sqlite", "mariadb"):  # it stores -0.0 as 0
        floats, small = ([1.5 if repr(each) == "-0.0" else each for each in some] for some in (floats, small))
    return floats, small


def value(kind: str, rng: random.Random) -> Row:
    """Return a row from few values, which are almost equal."""
    floats, small = floats_of(kind)
    if rng.random() < 0.5:
        return rng.choice([1, None]), rng.choice(TEXTS[:4]), None, None, b""
    return rng.randrange(3), rng.choice(TEXTS), rng.choice(floats), rng.choice(small), rng.choice(RAW)


def log(rows: list[Row], kind: str, rng: random.Random, statements: int) -> list[Row]:
    """Change rows, and return the changes."""
    found: list[Row] = []
    for _ in range(statements):
        what = rng.choice(["insert", "insert", "update", "delete"])
        at = rng.randrange(len(rows)) if rows else 0
        if what == "insert" or not rows:
            rows.append(rng.choice(rows) if rows and rng.random() < 0.4 else value(kind, rng))
            found.append((NEW, *rows[-1]))
        elif what == "update":
            found.append((BEFORE, *rows[at]))
            rows[at] = rng.choice(rows) if rng.random() < 0.4 else value(kind, rng)
            found.append((AFTER, *rows[at]))
        else:
            found.append((GONE, *rows.pop(at)))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_target_equals_the_table_after_each_unit(target: Target, seed: int) -> None:
    rng, rows = random.Random(seed), list[Row]()
    for unit in range(1, 9):
        changes = log(rows, target.kind, rng, rng.choice([3, 40, 120]))
        batches = []
        while changes:
            size = rng.choice([1, 7, 50])
            batches.append(notes(*changes[:size]))
            changes = changes[size:]
        put(target, *batches, unit=unit)
        assert exact(target.rows()) == exact(rows)


def test_rows_that_are_almost_equal_differ(target: Target) -> None:
    """Delete every second row, and then the others: an inexact comparison deletes the wrong one of two."""
    floats, small = floats_of(target.kind)
    pool: list[Row] = [(1, text, None, None, b"") for text in TEXTS]
    pool += [(1, "x", number, None, b"") for number in floats]
    pool += [(1, "x", None, number, b"x") for number in small]
    pool += [(1, "x", None, None, raw) for raw in RAW if raw]
    pool += [
        (2, "a", None, None, None),
        (2, None, None, None, b"a"),
        (None, "2", None, None, b"2"),
        (2, None, 2.0, None, None),
    ]
    pool += [
        (2, None, None, 2.0, None),
        (2, None, None, None, None),
        (None, "2", 2.0, None, None),
        (2, "", None, None, None),
    ]
    pool += [] if target.kind in ("sqlite", "duckdb", "mariadb", "mysql") else [(2, "(1,2)", None, None, None)]
    if target.kind not in ("postgresql",):
        pool += [(3, "a\0b", None, None, None), (3, "a\0c", None, None, None), (3, "a", None, None, None)]
    assert len(exact(pool)) == len(pool)
    put(target, notes(*[(NEW, *row) for row in pool]))
    for unit, (gone, kept) in enumerate(((pool[1::2], pool[::2]), (pool[::2], pool[1::2])), start=1):
        put(target, notes(*[(GONE, *row) for row in gone]), unit=2 * unit)
        assert exact(target.rows()) == exact(kept)
        put(target, notes(*[(NEW, *row) for row in gone]), unit=2 * unit + 1)


def test_one_of_equal_rows_is_deleted_or_updated(target: Target) -> None:
    put(target, notes(*[(NEW, *note("a"))] * 3))
    put(target, notes((GONE, *note("a"))), unit=2)
    assert exact(target.rows()) == exact([note("a")] * 2)
    put(target, notes((BEFORE, *note("a")), (AFTER, *note("b"))), unit=3)
    assert exact(target.rows()) == exact([note("a"), note("b")])
    put(target, notes((BEFORE, *note("b")), (AFTER, *note("b"))), unit=4)
    assert exact(target.rows()) == exact([note("a"), note("b")])


@pytest.mark.parametrize(
    "changes",
    [
        [(GONE, *note("absent"))],
        [(BEFORE, *note(None, 2)), (AFTER, *note("b"))],
        [(GONE, *note("a")), (GONE, *note("a"))],
        [(GONE, *note("b")), (NEW, *note("b"))],  # the numbers of deleted and inserted rows are equal
        [(NEW, *note("b")), (GONE, *note("b")), (GONE, *note("b")), (NEW, *note("b"))],
    ],
)
def test_a_row_without_an_equal_one_is_an_error(target: Target, changes: list[Row]) -> None:
    put(target, notes((NEW, *note("a")), (NEW, *note(None))))
    with pytest.raises(CommitError, match="has no equal row") as raised:
        put(target, notes((NEW, *note("new")), *changes), unit=2)
    assert "notes" in str(raised.value)
    assert not raised.value.retryable
    assert exact(target.rows()) == exact([note("a"), note(None)])


def test_rows_may_come_and_go_in_a_unit(target: Target) -> None:
    put(
        target,
        notes((NEW, *note("b")), (GONE, *note("b")), (NEW, *note("b")), (BEFORE, *note("b")), (AFTER, *note("c"))),
    )
    assert exact(target.rows()) == exact([note("c")])


def test_a_repeated_commit_changes_nothing(target: Target) -> None:
    put(target, notes(*[(NEW, *note("a"))] * 3))
    here, sink = place(epoch=1, unit=2), target.sink()
    sink.prepare(sink_place(here))
    writer = begin(sink, SCHEMA, here)
    writer.write(notes((GONE, *note("a")), (NEW, *note("b"))))
    committable = stage_of(writer.finish(), 1, 2)
    commit(sink, [committable], here)
    sink.commit([committable], sink_place(here), may_be_committed=True)
    assert exact(target.rows()) == exact([note("a"), note("a"), note("b")])


def test_several_units_in_one_commit_are_applied_in_order(target: Target) -> None:
    units, here = [], place(epoch=1, unit=1)
    sink = target.sink()
    sink.prepare(sink_place(here))
    for unit, changes in enumerate(([(NEW, *note("a"))], [(GONE, *note("a"))], [(NEW, *note("a"))] * 2), start=1):
        writer = begin(sink, SCHEMA, place(epoch=1, unit=unit))
        writer.write(notes(*changes))
        units.append(stage_of(writer.finish(), 1, unit))
    commit(sink, units, here)
    assert exact(target.rows()) == exact([note("a")] * 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ADD COLUMN added int DEFAULT 5", "has the column 'added', which the staged rows lack"),
        ("DROP COLUMN raw", "with the column 'raw', which the table .*notes no longer has"),
    ],
)
def test_a_table_with_other_columns_than_the_staged_rows_is_refused(target: Target, change: str, message: str) -> None:
    """The remaining ones of equal rows are written again, with the staged columns only."""
    put(target, notes(*[(NEW, *note("a"))] * 3))
    here, sink = place(epoch=1, unit=2), target.sink()
    sink.prepare(sink_place(here))
    writer = begin(sink, SCHEMA, here)
    writer.write(notes((GONE, *note("a"))))
    committable = stage_of(writer.finish(), 1, 2)
    target.run(f"ALTER TABLE notes {change}")
    with pytest.raises(CommitError, match=message):
        commit(sink, [committable], here)
    assert target.rows("n, name") == [(1, "a")] * 3


def test_an_update_without_the_row_before_it_is_refused(target: Target) -> None:
    put(target, notes((NEW, *note("a"))))
    with pytest.raises(RowError, match="without the row before the update"):
        put(target, notes((NEW, *note("b")), (AFTER, *note("c"))), unit=2)
    put(target, notes((BEFORE, *note("a"))), notes((AFTER, *note("b"))), unit=3)  # in two batches
    assert exact(target.rows()) == exact([note("b")])


COLUMNS_OF = {"duckdb": "n BIGINT, name VARCHAR, amount DOUBLE, small FLOAT, raw BLOB"}


def definition(kind: str) -> str:
    text, double = ("text", "double precision") if kind != "sqlite" else ("TEXT", "DOUBLE")
    raw = {"postgresql": "bytea", "mariadb": "longblob", "mysql": "longblob"}.get(kind, "BLOB")
    small = "float" if kind in ("mariadb", "mysql") else "real"
    return COLUMNS_OF.get(kind, f"n bigint, name {text}, amount {double}, small {small}, raw {raw}")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", PRIMARY KEY (n)", "has the key .n."),
        (", UNIQUE (amount)", "has the key .amount."),
        (", added int", "has the column 'added'"),
    ],
)
def test_a_table_with_a_key_or_more_columns_is_refused(target: Target, more: str, message: str) -> None:
    target.run(f"CREATE TABLE notes ({definition(target.kind)}{more})")
    with pytest.raises(SinkError, match=message) as raised:
        put(target, notes((NEW, *note("a"))))
    assert "match_whole_rows" in str(raised.value)
    sink = target.sink()
    if isinstance(sink, JdbcSink):
        with pytest.raises(SinkError, match=message):
            sink.dry_run([SCHEMA])


def test_an_existing_table_keeps_its_rows(target: Target) -> None:
    target.run(f"CREATE TABLE notes ({definition(target.kind)})")
    target.run("INSERT INTO notes (n, name) VALUES (1, 'a'), (1, 'A'), (1, 'a')")
    sink = target.sink()
    if isinstance(sink, JdbcSink):
        assert any("DELETE" in said for said in sink.dry_run([SCHEMA]))
    put(target, notes((GONE, 1, "a", None, None, None), (NEW, 2, "b", None, None, None)))
    assert sorted(target.rows("n, name")) == [(1, "A"), (1, "a"), (2, "b")]


@pytest.mark.parametrize("target", [kind for kind in KINDS if kind != "duckdb"], indirect=True)
def test_generated_columns_are_computed_again(target: Target) -> None:
    stored = "STORED" if target.kind == "postgresql" else "VIRTUAL"
    target.run(f"CREATE TABLE notes ({definition(target.kind)}, twice bigint GENERATED ALWAYS AS (n * 2) {stored})")
    put(target, notes(*[(NEW, *note("a"))] * 3))
    put(target, notes((GONE, *note("a"))), unit=2)
    assert target.rows("n, name, twice") == [(1, "a", 2)] * 2


def test_tables_with_a_key_are_merged_by_it(target: Target) -> None:
    keyed = TableSchema(table="shop.notes", columns=COLUMNS, primary_key=("n",))
    write(target.sink(), notes((NEW, *note("a")), (AFTER, *note("b"))), schema=keyed)
    assert target.rows("n, name") == [(1, "b")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"write_mode": "append"}, "requires write_mode = merge"),
        ({"write_mode": "replace"}, "requires write_mode = merge"),
        ({"write_mode": None}, "requires write_mode = merge"),
        ({"merge_key": ["n"]}, "match_whole_rows"),
        ({"primary_keys": ["n"]}, "match_whole_rows"),
        ({"keep_history": True}, "match_whole_rows"),
    ],
)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_contradicting_options(kind: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    given = {name: value for name, value in options.items() if value is not None}
    without = [name for name, value in options.items() if value is None]
    some = {name: value for name, value in WHOLE.items() if name not in without}
    made = partial(duckdb_sink, tmp_path) if kind == "duckdb" else partial(jdbc_sink, empty("sqlite", tmp_path))
    with pytest.raises(UsageError, match=message):
        made(table="notes", **{**some, **given})


def jdbc_sink(database: Database, **options: Any) -> Sink:
    return database.sink(**{"generate_sink_sql": True, **options})


def test_a_merge_without_a_key_names_the_option(target: Target) -> None:
    with pytest.raises(SinkError, match="match_whole_rows = true"):
        target.sink(match_whole_rows=False).check_schema(SCHEMA)


def test_rows_with_child_tables_are_refused(target: Target) -> None:
    columns = pa.schema([("_row_id", pa.string()), ("n", pa.int64())])
    schema = TableSchema(table="shop.notes", columns=columns)
    with pytest.raises(SinkError, match="child tables"):
        write(target.sink(), schema=schema)


@pytest.mark.servers
@pytest.mark.twin
def test_a_server_without_window_functions_is_refused() -> None:
    server = shared(MySQL57)
    server.empty()
    forget()
    sink = Database("mysql", server.options(), server).sink(table="notes", **WHOLE)
    with pytest.raises(SinkError, match=r"MySQL 5\.7"):
        write(sink, notes((NEW, *note("a"))), schema=SCHEMA)
    forget()
