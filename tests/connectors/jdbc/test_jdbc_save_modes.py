"""The save modes of ``Jdbc`` act once for a job and a table, and only for the engine that goes on (R4, R6)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import WriterContext
from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.additions import additions
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.save_mode import TableSaveMode
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import SinkError
from tests.connectors.test_save_modes import begun

# -- databases


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    forget()
    yield f"jdbc:sqlite:{tmp_path}/x.db"
    forget()


def table(url: str, **options: Any) -> JdbcSink:
    values = {
        "url": url,
        "generate_sink_sql": True,
        "table": "t",
        "is_exactly_once": True,
        "data_save_mode": "DROP_DATA",
        **options,
    }
    return JdbcSink(options_of(JdbcSink, values))


def rows_in(url: str) -> list[int]:
    import sqlite3

    with sqlite3.connect(url.removeprefix("jdbc:sqlite:")) as found:
        rows = [number for (number,) in found.execute("SELECT id FROM t ORDER BY id")]
    found.close()
    return rows


def written(sink: JdbcSink, here: WriterContext, first: int, count: int) -> None:
    commit(sink, [stage(sink, SCHEMA, [numbered(first, count)], here)], here)


def test_rows_that_come_beside_others_are_told(database: str) -> None:
    """And not where a row replaces one with its key."""
    for number, told in ((1, ()), (2, ("5 rows added to the table t, which had rows",))):
        made = table(database, data_save_mode="APPEND_DATA")
        here = evolve(place(), job_id=f"job-{number}")
        begun(made, here)
        written(made, here, 1, 5)
        assert additions(made, 5, {}) == told
    keyed = table(database, data_save_mode="APPEND_DATA", primary_keys=["id"])
    begun(keyed, evolve(place(), job_id="job-3"))
    assert additions(keyed, 5, {}) == ()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_exactly_once": False},
        {"schema_save_mode": "RECREATE_SCHEMA"},
        {"data_save_mode": "ERROR_WHEN_DATA_EXISTS"},
    ],
    ids=str,
)
def test_a_second_pipeline_of_the_job_finds_the_table_emptied(database: str, options: dict[str, Any]) -> None:
    """Its table was made ready when the first one had committed, and lost those rows."""
    first, second = place(), place(pipeline_id=2)
    one, two = table(database, **options), table(database, **options)
    begun(one, first)
    begun(two, second)
    written(one, first, 0, 3)
    written(two, second, 10, 2)
    assert rows_in(database) == [0, 1, 2, 10, 11]
    again, later = table(database, **options), place(pipeline_id=2, epoch=2)
    begun(again, later)
    again.create_tables([SCHEMA], sink_place(later))
    assert rows_in(database) == [0, 1, 2, 10, 11], "killed before its first checkpoint"


def test_a_pipeline_alone_empties_again_what_it_had_begun(database: str) -> None:
    first, later = place(), place(epoch=2)
    one = table(database, is_exactly_once=False)
    begun(one, first)
    written(one, first, 0, 3)
    begun(table(database, is_exactly_once=False), later)
    again = table(database, is_exactly_once=False)
    begun(again, later)
    written(again, later, 0, 5)
    assert rows_in(database) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("ended", [True, False])
def test_an_engine_that_was_replaced_does_not_empty_a_table(database: str, exact: bool, ended: bool) -> None:
    asleep, awake = table(database, is_exactly_once=exact), table(database, is_exactly_once=exact)
    begun(asleep, place())
    begun(awake, place(epoch=2))
    written(awake, place(epoch=2), 0, 3)
    if ended:
        awake.clear(sink_place(place(epoch=2)))
    with pytest.raises(SinkError, match=r"another engine has taken over|its job has ended"):
        asleep.create_tables([SCHEMA], sink_place(place()))
    assert rows_in(database) == [0, 1, 2]


def test_of_two_that_empty_a_table_at_once_the_database_lets_one_pass(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is asleep in another pipeline, whose engine of today has not come yet: no row tells that it was replaced."""
    asleep, awake = table(database), table(database)
    begun(asleep, place())
    begun(awake, place(pipeline_id=2, epoch=2))
    written(awake, place(pipeline_id=2, epoch=2), 0, 3)
    asked = iter([True, False])
    monkeypatch.setattr(TableSaveMode, "may_act", lambda _self, _connection: next(asked))
    monkeypatch.setattr(TableSaveMode, "_reached", lambda _self, _connection: set())
    with pytest.raises(SinkError, match="UNIQUE"):
        asleep.create_tables([SCHEMA], sink_place(place()))
    assert rows_in(database) == [0, 1, 2]


def test_what_is_written_down_of_save_modes_goes_with_the_job(database: str) -> None:
    import sqlite3

    one = table(database)
    begun(one, place())
    written(one, place(), 0, 1)
    one.clear(sink_place(place()))
    with sqlite3.connect(database.removeprefix("jdbc:sqlite:")) as found:
        assert found.execute("SELECT * FROM seatunnel_commits").fetchall() == []
    found.close()
    next_run = evolve(place(), job_id="tomorrow")
    begun(another := table(database), next_run)
    written(another, next_run, 5, 1)
    assert rows_in(database) == [5]
