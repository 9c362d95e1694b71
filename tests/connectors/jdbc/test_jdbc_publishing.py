"""What the sink ``Jdbc`` stages and commits: the kit with its kills, fences, and commits that are made once."""

import gc
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing.drive import begin, commit, place, sink_place, stage
from seatunnel_core.connectors.jdbc import publishing, staging
from seatunnel_core.connectors.jdbc.databases import sqlite
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.tables import ledger
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.committable import Committable
from tests.connectors.jdbc.databases import ask, run, sink
from tests.connectors.jdbc.sink_units import EXACT, NEW, SCHEMA, JdbcSinkSuite, batch, stage_of, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    forget()
    return tmp_path / "target.db"


class TestJdbcSink(JdbcSinkSuite):
    kills = 12

    @pytest.fixture(autouse=True)
    def database(self, file: Path) -> None:
        self.file = file

    def elsewhere(self) -> Mapping[str, Any]:
        return {**self.options(), "url": f"jdbc:sqlite:{self.file}2"}

    def options(self) -> Mapping[str, Any]:
        return {"url": f"jdbc:sqlite:{self.file}", "table": "people", **EXACT}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        try:
            return [{"id": number} for (number,) in ask(self.file, "SELECT id FROM people")]
        except sqlite3.OperationalError:
            return []

    def staged(self) -> int:
        gc.collect()
        return len(ask(self.file, "SELECT name FROM sqlite_master WHERE name LIKE 'seatunnel_%_o%_e%'"))

    def lose(self) -> bool:
        forget()
        self.file.rename(f"{self.file}-moved")
        return True

    def lose_table(self) -> bool:
        forget()
        run(self.file, "DROP TABLE people")
        return True


@pytest.mark.parametrize("lost", ["seatunnel_commits", "seatunnel_pipelines"])
def test_records_that_are_lost_are_an_error_and_not_created_again(file: Path, lost: str) -> None:
    """The table of commits was created again, and a commit that is repeated would not have been recognised."""
    of = sink(file, table="people", **EXACT)
    of.prepare(sink_place(place()))
    commit(of, [stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], place())], place())
    forget()
    run(file, f"DROP TABLE {lost}")
    for epoch in (2, 3):
        here = evolve(sink_place(place(epoch=epoch)), prepared_in=1)
        with pytest.raises(SinkError, match="is not the database that this job has written to: "):
            sink(file, table="people", **EXACT).prepare(here)


def test_an_engine_that_was_replaced_commits_nothing(file: Path) -> None:
    old, new = sink(file, table="people", **EXACT), sink(file, table="people", **EXACT)
    here = place(epoch=1)
    old.prepare(sink_place(here))
    committable = stage(old, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    late = begin(old, SCHEMA, place(epoch=1, unit=2))
    late.write(batch((NEW, 2, "b")))
    new.prepare(sink_place(place(epoch=2)))
    with pytest.raises(
        CommitError, match="another engine has taken over this job: its epoch is 2, and the epoch of this engine is 1"
    ):
        commit(old, [committable], here)
    with pytest.raises(SinkError, match="another engine has taken over this job"):
        late.finish()
    late.abort()
    with pytest.raises(SinkError, match="another engine has taken over this job"):
        old.prepare(sink_place(here))
    assert ask(file, "SELECT * FROM people") == []


def test_a_replaced_engine_that_wakes_before_its_save_mode_empties_nothing(file: Path) -> None:
    """R4: the save mode acts under the pipeline's row."""
    run(file, "CREATE TABLE people (id INTEGER, name TEXT)")
    how = {"table": "people", "data_save_mode": "DROP_DATA", **EXACT}
    old, new = sink(file, **how), sink(file, **how)
    for each, epoch in ((old, 1), (new, 2)):
        each.prepare(sink_place(place(epoch=epoch)))
        each.apply_save_mode(sink_place(place(epoch=epoch)))
    committable = stage(new, SCHEMA, [batch((NEW, 1, "a")).rows], place(epoch=2))
    commit(new, [committable], place(epoch=2))
    with pytest.raises(
        SinkError, match="another engine has taken over this job: its epoch is 2, and the epoch of this engine is 1"
    ):
        old.create_tables((SCHEMA,), sink_place(place(epoch=1)))
    assert ask(file, "SELECT * FROM people") == [(1, "a")]


def test_what_was_dropped_by_somebody_is_no_success(file: Path) -> None:
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    run(file, f"DROP TABLE {committable.body['tables'][0]['staging']}")
    with pytest.raises(CommitError, match=r"the staged table .* no longer exists"):
        commit(of, [committable], here, may_be_committed=True)


def test_a_committable_of_somebody_else_is_refused(file: Path) -> None:
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    committable.body["tables"][0]["staging"] = "people"
    with pytest.raises(CommitError, match="'people' is not a staged table of this sink"):
        commit(of, [committable], here)


def test_ids_are_kept_until_no_checkpoint_names_them_and_until_the_job_has_ended(file: Path) -> None:
    of = sink(file, table="people", **EXACT)
    write(of, batch((NEW, 1, "a")), unit=1)
    write(of, batch((NEW, 2, "a")), unit=2)
    later = sink_place(place(epoch=2))
    of.prepare(later)
    of.sweep(later, frozenset({"0-1-2"}), final=False)
    assert ask(file, f"SELECT committable FROM {staging.COMMITS}") == [("0-1-2",)]
    of.sweep(later, frozenset(), final=True)
    assert len(ask(file, f"SELECT * FROM {staging.COMMITS}")) == 1
    of.clear(later)
    assert ask(file, f"SELECT * FROM {staging.COMMITS}") == ask(file, f"SELECT * FROM {staging.PIPELINES}") == []


def test_a_start_forgets_no_commit_of_its_own(file: Path) -> None:
    of = sink(file, table="people", **EXACT)
    write(of, batch((NEW, 1, "a")), unit=1)
    of.sweep(sink_place(place()), frozenset(), final=False)
    assert ask(file, f"SELECT committable FROM {staging.COMMITS}") == [("0-1-1",)]


def test_each_of_many_committables_is_known_as_committed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked for in several statements."""
    monkeypatch.setattr(ledger, "_IDS", 2)
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    units = [stage(of, SCHEMA, [batch((NEW, unit, "a")).rows], place(unit=unit)) for unit in range(1, 6)]
    commit(of, units, here)
    commit(of, units, here, may_be_committed=True)
    assert ask(file, "SELECT id FROM people ORDER BY id") == [(unit,) for unit in range(1, 6)]
    later = sink_place(place(epoch=2))
    of.prepare(later)
    of.sweep(later, frozenset({"0-1-5"}), final=False)
    assert ask(file, f"SELECT committable FROM {staging.COMMITS}") == [("0-1-5",)]


def test_a_commit_whose_answer_was_lost_is_not_made_twice(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database had committed when the connection broke: the sink tries again by itself."""
    of, here = sink(file, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    made, calls = publishing.Publishing.commit, []

    def lost(self: publishing.Publishing, committables: Sequence[Committable], *, may_be_committed: bool) -> None:
        made(self, committables, may_be_committed=may_be_committed)
        calls.append(may_be_committed)
        if len(calls) == 1:
            raise CommitError("the connection was lost", retryable=True)  # as the pool of connections says it

    monkeypatch.setattr(publishing.Publishing, "commit", lost)
    commit(of, [committable], here)
    assert calls == [False, True]
    assert ask(file, "SELECT * FROM people") == [(1, "a")]


def test_two_tables_of_one_unit_are_committed_together(file: Path) -> None:
    other = TableSchema(table="shop.goods", columns=pa.schema([("code", pa.string())]))
    of, here = sink(file, **EXACT), place()
    of.prepare(sink_place(here))
    of.create_tables([SCHEMA, other], sink_place(here))
    writer = of.open_writer([SCHEMA, other], here)
    writer.write(batch((NEW, 1, "a")))
    writer.write(batch((NEW, "x"), schema=other))
    writer.write(batch((NEW, 2, "b")))
    staged = writer.finish()
    assert staged.rows == 3
    commit(of, [stage_of(staged)], here)
    assert ask(file, "SELECT * FROM people") == [(1, "a"), (2, "b")]
    assert ask(file, "SELECT * FROM goods") == [("x",)]


@pytest.mark.parametrize("options", [EXACT, {"generate_sink_sql": True}, {**EXACT, "primary_keys": ["id"]}])
def test_no_lock_is_held_while_rows_are_read(
    file: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sinks of a pipeline write into one file, in turns: each would wait for the other's transaction for ever."""
    monkeypatch.setattr(sqlite, "_WAIT_S", 0.1)
    sinks = [sink(file, table=name, batch_size=1, **options) for name in ("one", "other")]
    places = [evolve(place(), sink_ordinal=number) for number in (0, 1)]
    for each, at in zip(sinks, places, strict=True):
        each.prepare(sink_place(at))
    writers = [begin(each, SCHEMA, at) for each, at in zip(sinks, places, strict=True)]
    for number in (1, 2, 3):
        for writer in writers:
            writer.write(batch((NEW, number, "x")))
    for each, writer, at in zip(sinks, writers, places, strict=True):
        commit(each, [stage_of(writer.finish())], at)
    assert [ask(file, f"SELECT id FROM {name} ORDER BY id") for name in ("one", "other")] == [[(1,), (2,), (3,)]] * 2


def test_a_failed_writer_leaves_nothing_of_what_it_has_sent(file: Path) -> None:
    here = place()
    of = sink(file, table="one", batch_size=1, **EXACT)
    of.prepare(sink_place(here))
    writer = begin(of, SCHEMA, here)
    before = ask(file, "SELECT name FROM sqlite_master ORDER BY name")
    writer.write(batch((NEW, 1, "x")))
    assert ask(file, "SELECT name FROM sqlite_master ORDER BY name") != before
    writer.abort()
    assert ask(file, "SELECT name FROM sqlite_master ORDER BY name") == before
