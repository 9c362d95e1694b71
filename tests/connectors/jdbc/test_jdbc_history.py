"""Versions of rows that a merge of the sink ``Jdbc`` keeps, on each database."""

import gc
import itertools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing
from seatunnel_core.connectors.jdbc import publishing
from seatunnel_core.connectors.jdbc import sink as sink_of_jdbc
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.tables import history, ledger
from seatunnel_core.errors import CommitError, SinkError, UsageError
from seatunnel_core.work.committable import Committable
from tests.connectors.jdbc.databases import Database, empty
from tests.connectors.jdbc.sink_units import AFTER, BEFORE, GONE, NEW, SCHEMA
from tests.connectors.jdbc.test_jdbc_growth import EVOLVE
from tests.connectors.jdbc.test_jdbc_growth import run as grow
from tests.connectors.jdbc.test_jdbc_modes import run, sink, unit
from tests.shared import SERVERS

HISTORY: dict[str, Any] = {"write_mode": "merge", "merge_key": "id", "keep_history": True}


def versions(database: Database) -> list[tuple[Any, ...]]:
    found = database.run("SELECT id, name, is_current, valid_to IS NULL FROM people ORDER BY id, valid_from")
    assert all(bool(row[2]) == bool(row[3]) for row in found), "the current version has no end"
    return [(id, name, bool(current)) for id, name, current, _ in found]


def test_versions_follow_each_other_and_unchanged_rows_write_nothing(database: Database) -> None:
    run(database, [(NEW, 1, "a"), (NEW, 2, None), (NEW, 3, "c")], job="first", **HISTORY)
    changes = [(AFTER, 1, "b"), (NEW, 2, None), (GONE, 3, None), (NEW, 4, "d"), (GONE, 9, None)]
    run(database, changes, job="second", **HISTORY)
    run(database, [(NEW, 1, "a"), (NEW, 2, "x"), (NEW, 3, "c")], job="third", **HISTORY)
    expected = [(1, "a", False), (1, "b", False), (1, "a", True), (2, None, False), (2, "x", True)]
    expected += [(3, "c", False), (3, "c", True), (4, "d", True)]
    assert versions(database) == expected
    before = database.run("SELECT * FROM people ORDER BY id, valid_from")
    run(database, [(NEW, 1, "a"), (NEW, 2, "x"), (NEW, 3, "c"), (NEW, 4, "d")], job="fourth", **HISTORY)
    assert database.run("SELECT * FROM people ORDER BY id, valid_from") == before
    gaps = (
        "SELECT 1 FROM people o WHERE id = 1 AND is_current = {0} AND NOT EXISTS (SELECT 1 FROM people n WHERE n.id = 1"
    )
    assert not database.run(f"{gaps} AND n.valid_from = o.valid_to)".format("false"))


def test_letters_of_another_case_and_spaces_at_the_end_are_a_change(database: Database) -> None:
    """Collations take them for equal: the change would have been lost."""
    run(database, [(NEW, 1, "a"), (NEW, 2, "b")], **HISTORY)
    run(database, [(NEW, 1, "A"), (NEW, 2, "b ")], job="next", **HISTORY)
    assert versions(database) == [(1, "a", False), (1, "A", True), (2, "b", False), (2, "b ", True)]


def test_of_a_key_that_comes_several_times_in_a_checkpoint_the_last_row_is_a_version(database: Database) -> None:
    run(database, [(NEW, 1, "a"), (BEFORE, 1, "a"), (AFTER, 1, "b")], [(AFTER, 1, "c")], [(GONE, 2, None)], **HISTORY)
    assert versions(database) == [(1, "c", True)]


def test_a_commit_that_is_repeated_adds_no_version(database: Database) -> None:
    run(database, [(NEW, 1, "a")], job="first", **HISTORY)
    of = sink(database, **HISTORY)
    of.prepare(sink_place(place()))
    found = unit(of, 1, [(NEW, 1, "b")])
    later = sink_place(place(epoch=2))
    for _ in range(2):
        of = sink(database, **HISTORY)
        of.prepare(later)
        of.commit([found], later, may_be_committed=True)
    assert versions(database) == [(1, "a", False), (1, "b", True)]


def test_tables_that_cannot_keep_history_are_refused(database: Database) -> None:
    database.run("CREATE TABLE people (id bigint, name varchar(20))", "INSERT INTO people VALUES (1, 'a')")
    with pytest.raises(SinkError, match=r"a column 'valid_from' of the type [A-Z]+.*, but the table .* has none"):
        run(database, [(NEW, 1, "a")], **HISTORY)
    for column in ("valid_from timestamp NULL", "valid_to timestamp NULL", "is_current boolean", "note varchar(9)"):
        database.run(f"ALTER TABLE people ADD COLUMN {column}")
    with pytest.raises(SinkError, match="has a column 'note', which the rows lack, so new versions would lose"):
        run(database, [(NEW, 1, "a")], **HISTORY)
    database.run("ALTER TABLE people DROP COLUMN note")
    with pytest.raises(SinkError, match="rows with is_current = null"):
        run(database, [(NEW, 1, "a")], **HISTORY)
    database.run("UPDATE people SET is_current = true")
    run(database, [(NEW, 1, "b")], job="next", **HISTORY)
    found = database.run("SELECT name, is_current FROM people ORDER BY name")
    assert [(name, bool(current)) for name, current in found] == [("a", False), ("b", True)]


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    database = empty("sqlite", tmp_path)
    with pytest.raises(UsageError, match="requires write_mode = merge"):
        sink(database, keep_history=True)
    with pytest.raises(UsageError, match="requires keep_history = true"):
        sink(database, write_mode="merge", history_columns=["a", "b", "c"])


def test_a_table_with_a_unique_key_is_refused_before_a_row_moves(database: Database) -> None:
    """Each commit that changes a row would have failed."""
    run(database, [(NEW, 1, "a")], write_mode="merge", merge_key="id")
    for column in ("valid_from timestamp NULL", "valid_to timestamp NULL", "is_current boolean"):
        database.run(f"ALTER TABLE people ADD COLUMN {column}")
    database.run("UPDATE people SET is_current = true")
    with pytest.raises(SinkError, match="has a unique key of id, but keep_history adds rows with the same values"):
        run(database, [(NEW, 1, "b")], job="next", **HISTORY)


def test_versions_of_a_clock_that_was_ahead_do_not_overlap(database: Database) -> None:
    """The new version began before the older ones had ended, so that two were valid at one time."""
    run(database, [(NEW, 1, "a"), (NEW, 2, "x")], job="first", **HISTORY)
    database.run("UPDATE people SET valid_from = '2999-01-01 00:00:00' WHERE id = 1")
    run(database, [(NEW, 1, "b"), (NEW, 2, "y")], job="second", **HISTORY)
    run(database, [(NEW, 1, "c")], job="third", **HISTORY)
    overlapping = (
        "SELECT 1 FROM people o JOIN people n ON n.id = o.id AND n.name <> o.name WHERE n.valid_from < o.valid_to AND "
        "o.valid_from < n.valid_to OR n.is_current AND o.valid_to > n.valid_from"
    )
    assert not database.run(overlapping)
    assert sorted(name for (name,) in database.run("SELECT name FROM people WHERE is_current = true")) == ["c", "y"]


def test_a_look_takes_columns_of_history_for_ours(database: Database) -> None:
    run(database, [(NEW, 1, "a")], **HISTORY)
    assert "has all 2 columns" in sink(database, **HISTORY).dry_run((SCHEMA,))[1]
    database.run("DROP TABLE people", "CREATE TABLE people (id bigint, name varchar(20))")
    with pytest.raises(SinkError, match="keep_history requires a column 'valid_from'"):
        sink(database, **HISTORY).dry_run((SCHEMA,))
    kinds = "valid_from timestamp NULL, valid_to timestamp NULL, is_current boolean NOT NULL"
    database.run("DROP TABLE people", f"CREATE TABLE people (id bigint, name varchar(20), {kinds})")
    assert "has all 2 columns" in sink(database, **HISTORY).dry_run((SCHEMA,))[1]
    run(database, [(NEW, 1, "a")], job="next", **HISTORY)


def test_a_column_that_comes_later_is_null_in_older_versions(database: Database) -> None:
    grow(database, "one", HISTORY, id=[1, 2], name=["a", "b"])
    grow(database, "two", {**HISTORY, **EVOLVE}, id=[1, 2], name=["a", "b"], age=[30, None])
    found = database.run("SELECT id, age, is_current FROM people ORDER BY id, valid_from")
    ended = [(id, age, not current) for id, age, current in found]
    assert ended == [(1, None, True), (1, 30, False), (2, None, False)]


def test_a_value_of_a_column_that_is_added_while_the_job_runs_is_not_lost(database: Database) -> None:
    """The new version of a row had null in the column that another program had added and filled."""
    run(database, [(NEW, 1, "a"), (NEW, 2, "b"), (NEW, 3, "c"), (NEW, 4, "d")], **HISTORY)
    of, here = sink(database, **HISTORY), sink_place(place(job_id="next"))
    of.prepare(here)
    same = [(AFTER, 4, "D"), (AFTER, 2, "b"), (GONE, 3, None), (NEW, 5, "e")]
    kept, lost = unit(of, 1, same, "next"), unit(of, 2, [(AFTER, 1, "A")], "next")
    database.run("ALTER TABLE people ADD COLUMN tier varchar(9)", "UPDATE people SET tier = 'gold' WHERE id < 4")
    of.commit([kept], here, may_be_committed=False)
    asking = "SELECT id, name, tier FROM people WHERE is_current = true ORDER BY id"
    expected = [(1, "a", "gold"), (2, "b", "gold"), (4, "D", None), (5, "e", None)]
    assert list(map(tuple, database.run(asking))) == expected
    with pytest.raises(CommitError, match=r"people has the column 'tier', which the staged rows lack"):
        of.commit([lost], here, may_be_committed=False)
    assert list(map(tuple, database.run(asking))) == expected
    database.run("UPDATE people SET tier = NULL")
    of.commit([lost], here, may_be_committed=False)
    assert versions(database)[:2] == [(1, "a", False), (1, "A", True)]


@pytest.mark.parametrize("kind", SERVERS)
def test_of_two_jobs_that_commit_at_once_each_ends_the_version_of_the_other(kind: str, tmp_path: Path) -> None:
    """Both found no version, and each added one as the current."""
    database = empty(kind, tmp_path)
    run(database, [(NEW, 0, "")], **HISTORY)
    jobs = []
    for name in ("one", "two", "three"):
        of, here = sink(database, **HISTORY), sink_place(place(job_id=name))
        of.prepare(here)
        jobs.append((of, [unit(of, number, [(NEW, number, name)], name) for number in range(1, 6)], here))
    failures: list[BaseException] = []

    def commit(of: JdbcSink, units: Sequence[Committable], here: SinkContext) -> None:
        try:
            of.commit(units, here, may_be_committed=False)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=commit, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    asked = "SELECT id, sum(CASE WHEN is_current THEN 1 ELSE 0 END), count(*) FROM people WHERE id > 0 GROUP BY id"
    assert sorted((id, int(current), rows) for id, current, rows in database.run(asked)) == [
        (number, 1, 3) for number in range(1, 6)
    ]
    forget()


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_commit_that_is_killed_between_any_two_lines_adds_each_version_once(tmp_path: Path) -> None:
    expected = [(1, "a", False), (1, "b", True), (2, "b", True), (3, "c", False)]
    files = [Path(str(each.__file__)) for each in (history, ledger, publishing, sink_of_jdbc)]
    places = set[str]()
    for moment in itertools.count(1):
        (tmp_path / str(moment)).mkdir()
        database, here = empty("sqlite", tmp_path / str(moment)), sink_place(place(job_id="next"))
        run(database, [(NEW, 1, "a"), (NEW, 2, "b"), (NEW, 3, "c")], **HISTORY)
        of = sink(database, **HISTORY)
        of.prepare(here)
        found = unit(of, 1, [(AFTER, 1, "b"), (NEW, 2, "b"), (GONE, 3, None)], "next")
        with Killing(files, moment) as killing:
            of.commit([found], here, may_be_committed=False)
        del of
        gc.collect()
        forget()
        later = sink_place(place(job_id="next", epoch=2))
        again = sink(database, **HISTORY)
        again.prepare(later)
        again.commit([found], later, may_be_committed=True)
        assert versions(database) == expected, killing.place
        forget()
        if killing.place is None:
            break
        places.add(killing.place)
    assert {place.partition(",")[0] for place in places} == {"history.py", "ledger.py", "publishing.py", "sink.py"}
