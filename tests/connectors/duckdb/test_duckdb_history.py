"""Versions of rows that a merge keeps: which there are after changes, deletes, repetitions and a kill."""

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import commit
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing
from seatunnel_core.connectors import tables
from seatunnel_core.connectors.duckdb import tables as of_duckdb
from seatunnel_core.errors import CommitError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink
from tests.connectors.duckdb.test_duckdb_growth import EVOLVE
from tests.connectors.duckdb.test_duckdb_growth import run as grow
from tests.connectors.duckdb.test_duckdb_modes import MERGE, A, B, D, N, batch, run, unit

HISTORY: Mapping[str, Any] = {"write_mode": "merge", "merge_key": "id", "keep_history": True}
_ROWS = "SELECT id, day, n FROM orders ORDER BY id, day, n"
_VERSIONS = "SELECT id, day, n, is_current FROM orders ORDER BY id, valid_from"


def nightly(folder: Path, *nights: Batch) -> None:
    for number, rows in enumerate(nights):
        run(folder, [rows], job=f"night-{number}", **HISTORY)


def test_versions_follow_each_other_without_a_gap(tmp_path: Path) -> None:
    first = batch((1, "mo", 1), (2, "mo", None), (3, "mo", 3))
    second = batch((1, "tu", 1), (2, "mo", None), (3, "mo", 3), (4, "tu", 4), kinds=[A, N, D, N])
    third = batch((1, "mo", 1), (2, "mo", 2), (3, "we", 3), (9, "we", 9), kinds=[N, N, N, D])
    nightly(tmp_path, first, second, third)
    assert asked(tmp_path, _VERSIONS) == [
        (1, "mo", 1, False),
        (1, "tu", 1, False),
        (1, "mo", 1, True),
        (2, "mo", None, False),
        (2, "mo", 2, True),
        (3, "mo", 3, False),
        (3, "we", 3, True),
        (4, "tu", 4, True),
    ]
    wrong = "SELECT * FROM orders WHERE (valid_to IS NULL) <> is_current OR valid_to < valid_from"
    assert asked(tmp_path, wrong) == []
    next_of_1 = asked(tmp_path, "SELECT valid_to, lead(valid_from) OVER (ORDER BY valid_from) FROM orders WHERE id = 1")
    assert all(ended == began for ended, began in next_of_1)


def test_unchanged_rows_write_nothing(tmp_path: Path) -> None:
    same = batch((1, "mo", None), (2, None, 2))
    nightly(tmp_path, same)
    before = asked(tmp_path, "SELECT * FROM orders ORDER BY id")
    run(tmp_path, [same], job="again", **HISTORY)
    assert asked(tmp_path, "SELECT * FROM orders ORDER BY id") == before


def test_of_a_key_that_comes_several_times_in_a_checkpoint_the_last_row_is_a_version(tmp_path: Path) -> None:
    nightly(tmp_path, batch((1, "mo", 1), (1, "tu", 2), (1, "we", 3)), batch((1, "we", 3), (1, "we", 3), kinds=[B, A]))
    assert asked(tmp_path, _VERSIONS) == [(1, "we", 3, True)]


def test_a_commit_that_is_repeated_adds_no_version(tmp_path: Path) -> None:
    nightly(tmp_path, batch((1, "mo", 1)))
    sink, here = duckdb_sink(tmp_path, **HISTORY), place()
    sink.prepare(sink_place(here))
    found = unit(sink, 1, batch((1, "tu", 2)))
    sink, here = duckdb_sink(tmp_path, **HISTORY), place(epoch=2)
    sink.prepare(sink_place(here))
    for _ in range(2):
        commit(sink, [found], here, may_be_committed=True)
    assert asked(tmp_path, _VERSIONS) == [(1, "mo", 1, False), (1, "tu", 2, True)]


@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["merge", "history"])
def test_a_commit_that_is_killed_between_lines_counts_once(mode: str, tmp_path: Path) -> None:
    options = HISTORY if mode == "history" else MERGE
    before, places = [(1, "mo", 1), (2, "mo", 2), (3, "mo", 3)], set[str]()
    current = [(1, "tu", 1), (2, "mo", 2)]
    after = sorted([*current, (1, "mo", 1), (3, "mo", 3)]) if mode == "history" else current
    for moment in itertools.count(1, 3):
        folder = tmp_path / str(moment)
        run(folder, [batch(*before)], job="night", **options)
        sink, here = duckdb_sink(folder, **options), place()
        sink.prepare(sink_place(here))
        found = unit(sink, 1, batch((1, "tu", 1), (2, "mo", 2), (3, "mo", 3), kinds=[A, N, D]))
        with Killing([Path(of_duckdb.__file__).parent, Path(tables.__file__).parent], moment) as killing:
            commit(duckdb_sink(folder, **options), [found], here)
        assert asked(folder, _ROWS) in (before, after), killing.place
        later, there = duckdb_sink(folder, **options), place(epoch=2)
        later.prepare(sink_place(there))
        commit(later, [found], there, may_be_committed=True)
        assert asked(folder, _ROWS) == after, killing.place
        if mode == "history":
            assert asked(folder, f"{_ROWS.partition(' ORDER')[0]} WHERE is_current ORDER BY id") == current
        if killing.place is None:
            break
        places.add(killing.place)
        shutil.rmtree(folder)
    assert {place.partition(",")[0] for place in places} >= {
        "file_sink.py",
        "file_publishing.py",
        "staged_rows.py",
        "database.py",
        "ledger.py",
    }


def test_a_table_with_a_unique_key_is_refused_before_a_row_moves(tmp_path: Path) -> None:
    """Each commit that changes a row would have failed."""
    run(tmp_path, [batch((1, "mo", 1))], write_mode="merge", merge_key="id")
    changed(tmp_path, *(f"ALTER TABLE orders ADD COLUMN {name} TIMESTAMPTZ" for name in ("valid_from", "valid_to")))
    changed(tmp_path, "ALTER TABLE orders ADD COLUMN is_current BOOLEAN DEFAULT true")
    with pytest.raises(SinkError, match="has a unique key of id, but keep_history adds rows with the same values"):
        nightly(tmp_path, batch((1, "tu", 1)))


def test_versions_of_a_clock_that_was_ahead_do_not_overlap(tmp_path: Path) -> None:
    """The new version began before the older ones had ended, so that two were valid at one time."""
    nightly(tmp_path, batch((1, "mo", 1), (2, "mo", 2)))
    changed(tmp_path, "UPDATE orders SET valid_from = '2999-01-01' WHERE id = 1")
    for number, rows in enumerate((batch((1, "tu", 1), (2, "tu", 2)), batch((1, "we", 1)))):
        run(tmp_path, [rows], job=f"later-{number}", **HISTORY)
    overlapping = (
        "SELECT 1 FROM orders o JOIN orders n ON n.id = o.id AND n.day <> o.day WHERE n.valid_from < o.valid_to AND "
        "o.valid_from < n.valid_to OR n.is_current AND o.valid_to > n.valid_from"
    )
    assert asked(tmp_path, overlapping) == []
    assert asked(tmp_path, "SELECT id, day FROM orders WHERE is_current ORDER BY id") == [(1, "we"), (2, "tu")]


def test_a_column_that_comes_later_is_null_in_older_versions(tmp_path: Path) -> None:
    grow(tmp_path, "one", dict(HISTORY), id=[1, 2], name=["a", "b"])
    grow(tmp_path, "two", {**HISTORY, **EVOLVE}, id=[1, 2], name=["a", "b"], age=[30, None])
    found = asked(tmp_path, "SELECT id, age, is_current FROM orders ORDER BY id, valid_from")
    assert found == [(1, None, False), (1, 30, True), (2, None, True)]


def test_a_value_of_a_column_that_is_added_while_the_job_runs_is_not_lost(tmp_path: Path) -> None:
    """The new version of a row had null in the column that another program had added and filled."""
    nightly(tmp_path, batch((1, "mo", 1), (2, "mo", 2), (3, "mo", 3), (4, "mo", 4)))
    sink, here = duckdb_sink(tmp_path, **HISTORY), place()
    sink.prepare(sink_place(here))
    same = batch((4, "tu", 4), (2, "mo", 2), (3, "mo", 3), (5, "we", 5), kinds=[A, A, D, N])
    kept, lost = unit(sink, 1, same), unit(sink, 2, batch((1, "tu", 1)))
    changed(tmp_path, "ALTER TABLE orders ADD COLUMN tier VARCHAR", "UPDATE orders SET tier = 'gold' WHERE id < 4")
    commit(sink, [kept], here)
    before = asked(tmp_path, "SELECT id, day, tier, is_current FROM orders ORDER BY id, valid_from")
    assert before == [
        (1, "mo", "gold", True),
        (2, "mo", "gold", True),
        (3, "mo", "gold", False),
        (4, "mo", None, False),
        (4, "tu", None, True),
        (5, "we", None, True),
    ]
    with pytest.raises(CommitError, match=r"orders has the column 'tier', which the staged rows lack"):
        commit(sink, [lost], here)
    assert asked(tmp_path, "SELECT id, day, tier, is_current FROM orders ORDER BY id, valid_from") == before
    changed(tmp_path, "ALTER TABLE orders DROP COLUMN tier")
    commit(sink, [lost], here)
    assert asked(tmp_path, _VERSIONS)[:2] == [(1, "mo", 1, False), (1, "tu", 1, True)]


def test_columns_have_other_names_where_the_job_says_so(tmp_path: Path) -> None:
    named = {**HISTORY, "history_columns": ["since", "until", "now"]}
    run(tmp_path, [batch((1, "mo", 1))], **named)
    run(tmp_path, [batch((1, "tu", 1))], job="next", **named)
    assert asked(tmp_path, 'SELECT day, until IS NULL, "now" FROM orders ORDER BY since') == [
        ("mo", False, False),
        ("tu", True, True),
    ]


def test_tables_that_cannot_keep_history_are_refused(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))])
    with pytest.raises(SinkError, match=r"a column 'valid_from' of the type TIMESTAMP WITH TIME ZONE.*has none"):
        nightly(tmp_path, batch((1, "mo", 1)))
    changed(
        tmp_path, "ALTER TABLE orders ADD COLUMN valid_from TIMESTAMPTZ", "ALTER TABLE orders ADD valid_to TIMESTAMPTZ"
    )
    changed(
        tmp_path, "ALTER TABLE orders ADD COLUMN is_current BOOLEAN DEFAULT true", "ALTER TABLE orders ADD note TEXT"
    )
    with pytest.raises(SinkError, match="has a column 'note', which the rows lack, so new versions would lose"):
        nightly(tmp_path, batch((1, "mo", 1)))
    changed(tmp_path, "ALTER TABLE orders DROP note", "UPDATE orders SET is_current = NULL")
    with pytest.raises(SinkError, match="rows with is_current = null"):
        nightly(tmp_path, batch((1, "mo", 1)))
    changed(tmp_path, "UPDATE orders SET is_current = true")
    nightly(tmp_path, batch((1, "tu", 1)))
    assert asked(tmp_path, _VERSIONS) == [(1, "tu", 1, True), (1, "mo", 1, False)], "null is the beginning of time"
    changed(tmp_path, "UPDATE orders SET is_current = true")
    with pytest.raises(SinkError, match="several rows with id = 1"):
        nightly(tmp_path, batch((1, "tu", 1)))


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    for options, message in (
        ({"keep_history": True}, "requires write_mode = merge"),
        ({**HISTORY, "keep_history": False, "history_columns": ["a", "b", "c"]}, "requires keep_history = true"),
        ({**HISTORY, "history_columns": ["a", "b", "A"]}, "expected three different names"),
    ):
        with pytest.raises(UsageError, match=message):
            duckdb_sink(tmp_path, **options)
    with pytest.raises(SinkError, match="already have a column 'day'; set other names in history_columns"):
        run(tmp_path, [batch((1, "mo", 1))], **HISTORY, history_columns=["day", "b", "c"])
