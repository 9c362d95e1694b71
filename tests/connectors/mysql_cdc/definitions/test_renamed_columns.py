"""Renamed columns of a resumed job: masks and unselected columns."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc import changed_columns
from seatunnel_core.connectors.mysql_cdc.definitions import renamed_columns
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.recorded_tables import recorded
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.tables import table

START, END = LogPosition("log.1", 100), LogPosition("log.1", 900)


def rules(**debezium: str) -> ColumnRules:
    given = {name.replace("__", "."): value for name, value in debezium.items()}
    options = {"url": "jdbc:mysql://h/shop", "username": "u", "password": "p", "table-names": ["shop.a"]}
    return ColumnRules.of(options_of(MySQLCdcSource, {**options, "debezium": given}))


EXCLUDED = rules(column__exclude__list=r".*\.ssn.*, .*\.photo")
MASKED = rules(column__mask__with__3__chars=r".*\.(ssn.*|mail)")


def people(which: ColumnRules, *names: str) -> Found:
    """Return the table ``a`` with a key and selected string columns."""
    found = table("a")
    columns = [column_of(name, "varchar(9)") for name in names if which.selects(("shop", "a"), name)]
    return evolve(found, columns=(found.columns[0], *columns))


def resumed(
    monkeypatch: pytest.MonkeyPatch, which: ColumnRules, before: Found, after: Found, *statements: str
) -> list[str]:
    """Return the columns of a job that stopped at the first statement, and is resumed after all of them."""

    class Reader:
        def __init__(self, **_: Any) -> None: ...

        def batches(self, *_: Any, **__: Any) -> Iterator[Any]:
            for number, text in enumerate(statements[1:]):
                transaction = SimpleNamespace(begin=LogPosition("log.1", 200 + number))
                yield SimpleNamespace(statement=SimpleNamespace(text=text, database="shop", transaction=transaction))

    monkeypatch.setattr(changed_columns, "LogReader", Reader)
    progress = Progress(server="s", log=START, changed=("shop.a",), statement=statements[0])
    server: Any = None
    found = changed_columns.resumed_columns(
        server, [after], progress, recorded([before], which), END, which, logs_names=True
    )
    return [column.name for column in found.tables[0].columns]


@pytest.mark.parametrize(
    ("which", "now", "statements", "message"),
    [
        (EXCLUDED, ["name", "tax"], ["RENAME COLUMN ssn TO tax"], "is not selected, was renamed to tax"),
        (EXCLUDED, ["name", "tax"], ["CHANGE `SSN`tax varchar(9)"], "is not selected, was renamed to tax"),
        (
            EXCLUDED,
            ["name", "tax"],
            ["ADD more int", "RENAME COLUMN ssn TO ssn2", "RENAME COLUMN ssn2 TO tax"],
            "is not selected, was renamed to tax",
        ),
        (EXCLUDED, ["name"], ["DROP name, CHANGE COLUMN ssn name text"], "is not selected, was renamed to name"),
        (MASKED, ["name"], ["DROP name", "RENAME COLUMN ssn TO name"], "has a mask, was renamed to name"),
        (
            MASKED,
            ["ssn", "name"],
            ["RENAME COLUMN name TO ssn, RENAME COLUMN ssn TO name"],
            "has a mask, was renamed to name",
        ),
        (MASKED, ["name", "tax"], ["CHANGE ssn tax varchar(9)"], "has a mask, was renamed to tax"),
    ],
)
def test_a_renamed_column_may_not_lose_its_protection(
    monkeypatch: pytest.MonkeyPatch, which: ColumnRules, now: list[str], statements: list[str], message: str
) -> None:
    before, after = people(which, "name", "ssn"), people(which, *now)
    with pytest.raises(SourceChangedError, match=rf"the column ssn.* of shop\.a, which {message}, so its"):
        resumed(monkeypatch, which, before, after, *(f"ALTER TABLE a {each}" for each in statements))


@pytest.mark.parametrize(
    ("which", "now", "statements"),
    [
        (EXCLUDED, ["title", "ssn"], ["RENAME COLUMN name TO title"]),
        (EXCLUDED, ["name", "photo", "more"], ["RENAME COLUMN ssn TO photo, ADD more varchar(9)"]),
        (EXCLUDED, ["name", "more"], ["DROP ssn, ADD more varchar(9)"]),
        (EXCLUDED, ["name", "ssn", "more"], ["RENAME COLUMN ssn TO tax", "CHANGE tax ssn int, ADD more varchar(9)"]),
        (MASKED, ["name", "mail"], ["RENAME COLUMN ssn TO mail"]),
        (MASKED, ["name"], ["DROP ssn"]),
    ],
)
def test_other_changes_are_accepted(
    monkeypatch: pytest.MonkeyPatch, which: ColumnRules, now: list[str], statements: list[str]
) -> None:
    before, after = people(which, "name", "ssn"), people(which, *now)
    found = resumed(monkeypatch, which, before, after, *(f"ALTER TABLE a {each}" for each in statements))
    assert found == [column.name for column in after.columns]


def test_names_in_statements() -> None:
    assert renamed_columns("ALTER TABLE t CHANGE A b int, CHANGE b `c``d` int, CHANGE e E int, MODIFY f int") == {
        "b": "a",
        "c`d": "b",
    }
    assert renamed_columns("ALTER TABLE t RENAME COLUMN `a b`TO`to`, RENAME COLUMN IF EXISTS to_c TO d") == {
        "to": "a b",
        "d": "to_c",
    }
    assert renamed_columns("ALTER TABLE t RENAME TO u, RENAME INDEX a TO b, ADD c int") == {}
