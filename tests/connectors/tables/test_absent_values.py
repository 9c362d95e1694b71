"""Absent values stay as they are in the target, whatever happens to their rows within a unit."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing.drive import begin, commit, place, sink_place
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.errors import CommitError, RowError
from seatunnel_core.spark.bad_rows import write_around
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink
from tests.connectors.jdbc import databases
from tests.connectors.jdbc.sink_units import stage_of, write
from tests.connectors.tables.change_log import (
    AFTER,
    BEFORE,
    DELETE,
    INSERT,
    KEY,
    SCHEMA,
    ChangedTable,
    Image,
    batches_of,
)

SQLITE = {"generate_sink_sql": True, "table": "things", "primary_keys": KEY}

Target = tuple[Callable[[], Sink], Callable[[str], Sequence[tuple[Any, ...]]]]


@pytest.fixture(params=["jdbc", "jdbc, direct", "duckdb"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    """What makes a sink, and what asks its table ``things``."""
    forget()
    if request.param == "duckdb":
        yield (
            lambda: duckdb_sink(tmp_path, table="things", write_mode="merge", merge_key=KEY),
            lambda statement: asked(tmp_path, statement),
        )
    else:
        file, exact = tmp_path / "target.db", request.param == "jdbc"
        yield (
            lambda: databases.sink(file, is_exactly_once=exact, **SQLITE),
            lambda statement: databases.ask(file, statement),
        )
    forget()


def apply(target: Target, images: Sequence[Image], unit: int, sizes: Iterator[int] | None = None) -> None:
    write(target[0](), *batches_of(images, sizes or repeat(100)), schema=SCHEMA, unit=unit)


def things(target: Target) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in target[1]("SELECT a, b, name, big FROM things ORDER BY a, b")]


ARRIVED, NO_NAME, NO_BIG, NEITHER = (False, False), (True, False), (False, True), (True, True)
FIRST: list[Image] = [
    (INSERT, ("a", 1), ("one", "big one"), ARRIVED),
    (INSERT, ("a", 2), ("two", "big two"), ARRIVED),
]
NEW_KEY: list[Image] = [(BEFORE, ("a", 1), (None, None), NEITHER), (AFTER, ("b", 7), (None, None), NEITHER)]
CASES: dict[str, tuple[list[Image], list[tuple[Any, ...]]]] = {
    "an update": ([(AFTER, ("a", 1), ("uno", None), NO_BIG)], [("a", 1, "uno", "big one"), ("a", 2, "two", "big two")]),
    "the last known value of each column": (
        [
            (AFTER, ("a", 1), ("uno", None), NO_BIG),
            (AFTER, ("a", 1), (None, "grande"), NO_NAME),
            (AFTER, ("a", 1), (None, None), NEITHER),
        ],
        [("a", 1, "uno", "grande"), ("a", 2, "two", "big two")],
    ),
    "null is a value": (
        [(AFTER, ("a", 1), (None, None), NO_BIG), (AFTER, ("a", 2), (None, None), ARRIVED)],
        [("a", 1, None, "big one"), ("a", 2, None, None)],
    ),
    "with the row before": (
        [(BEFORE, ("a", 1), (None, None), NEITHER), (AFTER, ("a", 1), ("uno", None), NO_BIG)],
        [("a", 1, "uno", "big one"), ("a", 2, "two", "big two")],
    ),
    "a new key": (
        [(BEFORE, ("a", 1), (None, None), NEITHER), (AFTER, ("b", 7), ("uno", None), NO_BIG)],
        [("a", 2, "two", "big two"), ("b", 7, "uno", "big one")],
    ),
    "a new key of a row that was changed before": (
        [
            (AFTER, ("a", 1), (None, "grande"), NO_NAME),
            (BEFORE, ("a", 1), (None, None), NEITHER),
            (AFTER, ("b", 7), (None, None), NEITHER),
            (AFTER, ("b", 7), ("uno", None), NO_BIG),
        ],
        [("a", 2, "two", "big two"), ("b", 7, "uno", "grande")],
    ),
    "two keys that change places": (
        [
            (BEFORE, ("a", 1), (None, None), NEITHER),
            (AFTER, ("b", 0), (None, None), NEITHER),
            (BEFORE, ("a", 2), (None, None), NEITHER),
            (AFTER, ("a", 1), (None, None), NEITHER),
            (BEFORE, ("b", 0), (None, None), NEITHER),
            (AFTER, ("a", 2), (None, None), NEITHER),
        ],
        [("a", 1, "two", "big two"), ("a", 2, "one", "big one")],
    ),
    "an insert after a delete": (
        [
            (DELETE, ("a", 1), (None, None), NEITHER),
            (INSERT, ("a", 1), ("new", None), ARRIVED),
            (AFTER, ("a", 1), (None, "later"), NO_NAME),
        ],
        [("a", 1, "new", "later"), ("a", 2, "two", "big two")],
    ),
    "a delete in the end": (
        [(AFTER, ("a", 1), (None, None), NEITHER), (DELETE, ("a", 1), (None, None), NEITHER)],
        [("a", 2, "two", "big two")],
    ),
    "a row that was inserted in the same unit": (
        [(INSERT, ("b", 3), ("three", "big three"), ARRIVED), (AFTER, ("b", 3), ("tres", None), NO_BIG)],
        [("a", 1, "one", "big one"), ("a", 2, "two", "big two"), ("b", 3, "tres", "big three")],
    ),
}


@pytest.mark.parametrize("size", [100, 1])
@pytest.mark.parametrize(("images", "found"), CASES.values(), ids=CASES)
def test_they_stay(target: Target, images: list[Image], found: list[tuple[Any, ...]], size: int) -> None:
    apply(target, FIRST, 1)
    apply(target, images, 2, repeat(size))
    assert things(target) == found


@pytest.mark.parametrize("seed", range(12))
def test_the_target_equals_the_table_after_each_unit(target: Target, seed: int) -> None:
    """Random statements, with rows that lack values or not, in units and batches of all sizes."""
    table = ChangedTable(random.Random(seed))
    for unit in range(1, 9):
        images = table.log(table.rng.choice([1, 5, 30]))
        if images:
            apply(target, images, unit, table.sizes())
            assert things(target) == table.found


@pytest.mark.parametrize("seed", range(6))
def test_units_of_one_checkpoint_are_applied_in_order(target: Target, seed: int) -> None:
    """Their files are merged together where the database allows it: the rows are numbered across them."""
    table, here = ChangedTable(random.Random(seed)), place()
    sink = target[0]()
    sink.prepare(sink_place(here))
    staged = []
    for unit in range(1, 7):
        images = table.log(8)
        writer = begin(sink, SCHEMA, place(unit=unit))
        for batch in batches_of(images, table.sizes()):
            writer.write(batch)
        staged.append(stage_of(writer.finish(), unit=unit))
    commit(sink, staged, here)
    assert things(target) == table.found


def test_a_skipped_update_leaves_no_old_row_to_the_next_one(tmp_path: Path) -> None:
    """The row ``a 2`` took the value of ``a 1``: the skipped row's old row was staged, and paired with the next one."""
    columns = "a VARCHAR, b BIGINT, name VARCHAR NOT NULL, big VARCHAR, PRIMARY KEY (a, b)"
    changed(tmp_path, f"CREATE TABLE things ({columns})")
    options: dict[str, Any] = {"table": "things", "write_mode": "merge", "merge_key": KEY}
    write(duckdb_sink(tmp_path, **options), *batches_of(FIRST, repeat(9)), schema=SCHEMA)
    sink = duckdb_sink(tmp_path, **options)
    sink.prepare(sink_place(place(unit=2)))
    writer = begin(sink, SCHEMA, place(unit=2))
    bad: list[Image] = [(BEFORE, ("a", 1), (None, None), NEITHER), (AFTER, ("b", 7), (None, None), NO_BIG)]
    (batch,) = batches_of([*bad, (AFTER, ("a", 2), ("dos", None), NO_BIG)], repeat(9))
    assert [(each.place, each.rows) for each in write_around(writer, batch, nulls=False)] == [(0, 2)]
    commit(sink, [stage_of(writer.finish(), unit=2)], place(unit=2))
    found = asked(tmp_path, "SELECT * FROM things ORDER BY b")
    assert found == [("a", 1, "one", "big one"), ("a", 2, "dos", "big two")]


@pytest.mark.parametrize(
    "images",
    [
        [(AFTER, ("a", 9), ("nine", None), NO_BIG)],
        [(DELETE, ("a", 1), (None, None), NEITHER), (AFTER, ("a", 1), ("nine", None), NO_BIG)],
        [(INSERT, ("a", 9), ("nine", None), NO_BIG)],
        [(BEFORE, ("a", 8), (None, None), NEITHER), (AFTER, ("a", 9), ("nine", None), NO_BIG)],
    ],
)
def test_without_a_row_to_take_them_from_the_key_and_the_column_are_named(target: Target, images: list[Image]) -> None:
    apply(target, FIRST, 1)
    key = f"a = a, b = {images[-1][1][1]}"
    with pytest.raises((CommitError, RowError), match=f"column 'big', the row with the key {key} of .*things.*REPLICA"):
        apply(target, images, 2)
    assert len(things(target)) == 2


def test_the_message_says_which_row_to_insert_and_then_the_unit_is_committed(target: Target) -> None:
    """It named only what to do about later changes, and the job stayed where it was."""
    apply(target, FIRST, 1)
    images: list[Image] = [(BEFORE, ("a", 8), (None, None), NEITHER), (AFTER, ("a", 9), ("nine", None), NO_BIG)]
    with pytest.raises((CommitError, RowError), match="insert a row with the key a = a, b = 8 and the value of 'big'"):
        apply(target, images, 2)
    apply(target, [(INSERT, ("a", 8), ("eight", "big eight"), ARRIVED)], 3)
    apply(target, images, 4)
    assert things(target)[-1] == ("a", 9, "nine", "big eight")
    inserted: list[Image] = [(INSERT, ("a", 10), ("ten", None), NO_BIG)]
    with pytest.raises((CommitError, RowError)) as raised:
        apply(target, inserted, 5)
    assert "To continue now" not in str(raised.value)


@pytest.mark.parametrize("kind", ["jdbc", "duckdb"])
def test_a_table_with_history_takes_them_from_the_current_version(tmp_path: Path, kind: str) -> None:
    forget()
    history = {"write_mode": "merge", "merge_key": KEY, "keep_history": True}

    def made() -> Sink:
        if kind == "duckdb":
            return duckdb_sink(tmp_path, table="things", **history)
        return databases.sink(
            tmp_path / "target.db", generate_sink_sql=True, is_exactly_once=True, table="things", **history
        )

    def found(statement: str) -> Any:
        return asked(tmp_path, statement) if kind == "duckdb" else databases.ask(tmp_path / "target.db", statement)

    changes: list[Image] = [(AFTER, ("a", 1), (None, "grande"), NO_NAME), (AFTER, ("a", 1), ("uno", None), NO_BIG)]
    for unit, images in enumerate([FIRST, *([each] for each in changes), NEW_KEY], start=1):
        write(made(), *batches_of(images, repeat(1)), schema=SCHEMA, unit=unit)
    rows = "SELECT a, b, name, big, is_current FROM things WHERE name <> 'two' ORDER BY valid_from, b"
    assert [tuple(row) for row in found(rows)] == [
        ("a", 1, "one", "big one", False),
        ("a", 1, "one", "grande", False),
        ("a", 1, "uno", "grande", False),
        ("b", 7, "uno", "grande", True),
    ]
    forget()


def test_columns_that_may_not_be_null_accept_deleted_and_incomplete_rows(tmp_path: Path) -> None:
    """A deletion that contains only the key was rejected."""
    columns = "a VARCHAR, b BIGINT, name VARCHAR, big VARCHAR NOT NULL, PRIMARY KEY (a, b)"
    changed(tmp_path, f"CREATE TABLE things ({columns})")
    options: dict[str, Any] = {"table": "things", "write_mode": "merge", "merge_key": KEY}
    for unit, images in enumerate([FIRST, [*NEW_KEY, (DELETE, ("a", 2), (None, None), ARRIVED)]], start=1):
        write(duckdb_sink(tmp_path, **options), *batches_of(images, repeat(9)), schema=SCHEMA, unit=unit)
    assert asked(tmp_path, "SELECT * FROM things") == [("b", 7, "one", "big one")]
    (wrong,) = batches_of([(AFTER, ("a", 1), ("x", "y"), ARRIVED), (AFTER, ("a", 1), ("x", None), ARRIVED)], repeat(9))
    with pytest.raises(RowError, match=r"column 'big', row 2 of a batch of shop.*the value is null"):
        write(duckdb_sink(tmp_path, **options), wrong, schema=SCHEMA, unit=3)


def test_the_key_must_arrive(target: Target) -> None:
    (batch,) = batches_of([(AFTER, ("a", 1), ("x", "y"), ARRIVED)], repeat(1))
    with pytest.raises(RowError, match=r"column 'b', row 1 of a batch of shop\.things: the change does not contain"):
        write(target[0](), evolve(batch, absent={"b": pa.array([True])}), schema=SCHEMA)


def test_a_sink_that_only_adds_rows_rejects_them(tmp_path: Path) -> None:
    (batch,) = batches_of([(INSERT, ("a", 1), ("x", None), NO_BIG)], repeat(1))
    plain = evolve(SCHEMA, primary_key=())
    for sink in (
        databases.sink(tmp_path / "target.db", generate_sink_sql=True, table="things"),
        duckdb_sink(tmp_path, table="things"),
    ):
        with pytest.raises(RowError, match="column 'big', row 1"):
            write(sink, batch, schema=plain)
