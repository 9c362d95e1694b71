"""Masked and unselected columns that are renamed while a job is stopped, without a server."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.postgres_cdc.changed_columns import (
    protected_columns,
    require_protected,
    resumed_tables,
    with_columns,
)
from seatunnel_core.connectors.postgres_cdc.cursor import Capture, ColumnsChange
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from tests.connectors.mysql_cdc.tables import table

NAME = table("a").reading.name
PATH = ("shop", "a")


def rules(**debezium: str) -> ColumnRules:
    given = {name.replace("__", "."): value for name, value in debezium.items()}
    options = {"url": "jdbc:postgresql://h/d", "username": "u", "password": "p", "table-names": ["a"], "slot.name": "s"}
    return ColumnRules.of(options_of(PostgresCdcSource, {**options, "debezium": given}))


EXCLUDED = rules(column__exclude__list=r".*\.ssn.*, .*\.photo")
MASKED = rules(column__mask__with__3__chars=r".*\.(ssn.*|mail)")


def captured(which: ColumnRules, **numbers: int) -> Captured:
    """Return the table ``a`` with the key ``id`` and string columns with these numbers."""
    names = {1: "id", **{number: name for name, number in sorted(numbers.items(), key=lambda each: each[1])}}
    found = table("a")
    columns = [column_of(name, "varchar(9)") for name in names.values() if name != "id" and which.selects(PATH, name)]
    return Captured(
        path=PATH,
        found=evolve(found, columns=(found.columns[0], *columns)),
        masks=which.recorded(found),
        numbers=names,
        protected={number: name for number, name in names.items() if which.protection(PATH, name)},
    )


def stopped(before: Captured) -> Capture:
    """Return the state of a job that has stopped with these columns, after it was stored."""
    tables = [before]
    state = Capture(server="7", tables=((before.name, before.shape),), log="0/100", chunks=ChunkStart(table=1))
    change = ColumnsChange(table=before.name, shape=before.shape, message="changed", is_reported=True)
    state = evolve(state, protected=protected_columns(None, tables), changed=change)
    return Capture.from_record(json.loads(json.dumps(state.record())))


def resumed(which: ColumnRules, before: Captured, now: Captured, logged: Sequence[str]) -> Captured:
    """Resume the job with the current columns, and with rows that have other columns in the log."""
    state = stopped(before)
    require_protected(state, [now], which)
    columns = [
        SimpleNamespace(name=name, declared=column.declared, arrow=column.arrow, selected=which.selects(PATH, name))
        for name, column in ((each, column_of(each, "int" if each == "id" else "varchar(9)")) for each in logged)
    ]
    schemas = [TableSchema(table=NAME, columns=before.found.schema().columns, primary_key=("id",))]
    table_of: Any = SimpleNamespace(columns=columns)
    (found,) = resumed_tables(state, [now], schemas, which, lambda *_: {PATH: table_of} if logged else {})
    return found


@pytest.mark.parametrize(
    ("which", "now", "message"),
    [
        (EXCLUDED, {"name": 2, "tax": 3}, "ssn of shop.a, which is not selected, was renamed to tax"),
        (EXCLUDED, {"name": 3}, "ssn of shop.a, which is not selected, was renamed to name"),
        (MASKED, {"name": 3}, "ssn of shop.a, which has a mask, was renamed to name"),
        (MASKED, {"ssn": 2, "name": 3}, "ssn of shop.a, which has a mask, was renamed to name"),
    ],
    ids=["renamed", "excluded instead of dropped", "masked instead of dropped", "swapped"],
)
def test_a_renamed_column_may_not_lose_its_protection(which: ColumnRules, now: dict[str, int], message: str) -> None:
    with pytest.raises(SourceChangedError, match=f"the column {message}"):
        resumed(which, captured(which, name=2, ssn=3), captured(which, **now), [])


@pytest.mark.parametrize(
    ("which", "now", "logged"),
    [
        (EXCLUDED, {"name": 2, "ssn": 3}, ["id", "name", "tax"]),
        (EXCLUDED, {"name": 2}, ["id", "name", "tax"]),
        (MASKED, {"ssn": 3}, ["id", "name"]),
        (MASKED, {"name": 2, "ssn": 3}, ["id", "ssn", "name"]),
    ],
    ids=["renamed back", "dropped", "renamed back after a drop", "swapped back"],
)
def test_rows_with_another_name_in_the_log(which: ColumnRules, now: dict[str, int], logged: list[str]) -> None:
    with pytest.raises(SourceChangedError, match=r"the values of ssn, which .* may have another name"):
        resumed(which, captured(which, name=2, ssn=3), captured(which, **now), logged)


@pytest.mark.parametrize(
    ("which", "now", "logged"),
    [
        (EXCLUDED, {"title": 2, "ssn": 3}, []),
        (EXCLUDED, {"name": 2, "photo": 3, "more": 4}, []),
        (EXCLUDED, {"name": 2, "more": 4}, []),
        (EXCLUDED, {"name": 2, "more": 4, "last": 5}, ["id", "name", "more"]),
        (EXCLUDED, {"name": 2, "ssn": 3, "more": 4, "last": 5}, ["id", "name", "ssn", "more"]),
        (MASKED, {"name": 2, "mail": 3}, []),
        (MASKED, {"name": 2, "ssn2": 3}, ["id", "name", "mail"]),
        (MASKED, {"name": 2}, []),
    ],
)
def test_other_changes_are_accepted(which: ColumnRules, now: dict[str, int], logged: list[str]) -> None:
    found = resumed(which, captured(which, name=2, ssn=3), captured(which, **now), logged)
    assert found.is_readable == (not logged)


def test_recorded_columns() -> None:
    before, after = captured(MASKED, name=2, ssn=3), captured(MASKED, name=2, mail=3)
    state = stopped(before)
    assert state.protected == {NAME: {3: "ssn"}}
    assert with_columns(state, [after], emits_rows=True).protected == {NAME: {3: "mail"}}
    former = evolve(after, is_readable=False)
    assert with_columns(state, [former], emits_rows=True).protected == state.protected
    record = state.record()
    del record["protected"]
    earlier = Capture.from_record(record)
    require_protected(earlier, [captured(MASKED, name=3)], MASKED)  # an earlier version did not record the columns
    assert with_columns(earlier, [before], emits_rows=True).protected == state.protected
