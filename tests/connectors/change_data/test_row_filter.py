"""Filters of rows, without a server."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules
from seatunnel_core.connectors.change_data.row_filter import RowFilter
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.jdbc.fetched import Fetched, Misfit
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.changed import changes_of
from tests.connectors.mysql_cdc.tables import table

NUMBERS = pa.array([1, 2, 3, None], pa.int16())
TEXTS = pa.array(["x", None, None, "y"])
ROWS = pa.RecordBatch.from_arrays([NUMBERS, TEXTS], names=["n", "my `t`"])


@pytest.mark.parametrize(
    ("text", "met", "sql"),
    [
        ("n = 2", [2], "`n` = 2"),
        ("n <> 2", [1, 3], "`n` <> 2"),
        ("n != 2 AND n > -1", [1, 3], "`n` != 2 AND `n` > -1"),
        ("`n`>=2", [2, 3], "`n` >= 2"),
        ('"n" < +2', [1], "`n` < 2"),
        ("n <= 2", [1, 2], "`n` <= 2"),
        ("n IN (3, 1 ,100000)", [1, 3], "`n` IN (3, 1, 100000)"),
        ("n in(2)", [2], "`n` IN (2)"),
        ("n = 999999999999", [], "`n` = 999999999999"),
        ("n is null", [None], ""),
        ("n IS NOT NULL and `my ``t``` is null", [2, 3], ""),
        (" n > 1\nAND `my ``t``` IS NULL AND n < 3 ", [2], "`n` > 1 AND `n` < 3"),
    ],
)
def test_conditions(text: str, met: Sequence[int | None], sql: str) -> None:
    found = RowFilter.parse(text)
    assert ROWS.filter(pa.array(found.met(ROWS, {}))).column("n").to_pylist() == met
    columns = (column_of("n", "int"), column_of("my `t`", "text"))
    assert found.sql(evolve(table("people"), columns=columns)) == sql


@pytest.mark.parametrize(
    "text",
    [
        "n", "n =", "n = 1 OR n = 2", "n = 1 AND", "AND n = 1", "n = 'x'", "n = 1.5", "n = m", "1 = n", "n IN ()",
        "n IN (1", "n IN 1", "n IS 1", "n IS NOT 1", "n = 1;", "n = 1 -- x", "n = 1 n = 2", "lower(n) = 1", "n + 1 = 2",
        "n BETWEEN 1 AND 2", "n = 1e3", "n = 0x1", "n = 9999999999999999999", "NOT n = 1", "(n = 1)", "`n = 1",
    ],
)  # fmt: skip
def test_other_conditions_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match=r"option 'filter': .*, at .*: expected comparisons"):
        RowFilter.parse(text)


def rules(text: str) -> ColumnRules:
    return ColumnRules(filters=((("people",), RowFilter.parse(text)),))


def people() -> Found:
    found = table("people")
    more = (column_of("name", "varchar(20)"), column_of("big", "bigint unsigned"), column_of("flag", "tinyint(1)"))
    return evolve(found, columns=(*found.columns, *more))


def test_the_server_checks_what_it_can() -> None:
    assert rules("a = 1 AND name IS NULL").selection(people()).where == "(`a` = 1)"
    assert rules("name IS NULL").selection(people()).where == ""
    assert rules("a = 1").row_filter(table("orders")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = 1", r"column name \(varchar\(20\)\): only integers can be compared"),
        ("big = 1", "only integers can be compared"),
        ("b = 1", "option 'filter': shop.people has no column 'b'"),
    ],
)
def test_filters_that_do_not_fit_their_table(text: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        rules(text).selection(people())


def test_kept_rows() -> None:
    found = table("people")
    rows = pa.RecordBatch.from_pylist([{"id": n, "a": n} for n in range(4)], found.schema().columns)
    assert EVERY_COLUMN.kept_rows(Fetched(rows=rows), found).rows.equals(rows)
    assert rules("a > 1").kept_rows(Fetched(rows=rows), found).rows.column("id").to_pylist() == [2, 3]
    assert rules("a > 1").recorded(found) == {"": "a > 1"}


def test_the_server_does_not_check_years() -> None:
    """MySQL compares a YEAR with 24 as with 2024, and the log has 2024 only."""
    found = evolve(people(), columns=(*people().columns, column_of("born", "year")))
    assert rules("born = 24 AND a = 1").selection(found).where == "(`a` = 1)"
    assert rules("born > 69").selection(found).where == ""


def test_a_row_with_a_misfit_is_kept_if_it_may_meet_the_filter() -> None:
    found = people()
    values = [{"id": n, "a": None if n == 0 else n} for n in range(4)]
    rows = pa.RecordBatch.from_pylist(values, found.schema().columns)
    bad, unknown = Misfit({"name": "bad"}), Misfit({"name": "bad", "a": "bad"})
    fetched = Fetched(rows=rows, misfits={0: unknown, 1: bad, 3: bad})
    kept = rules("a > 1").kept_rows(fetched, found)
    assert (kept.rows.column("id").to_pylist(), kept.misfits) == ([0, 2, 3], {0: unknown, 2: bad})
    kept = rules("a > 1 AND id > 1").kept_rows(fetched, found)
    assert (kept.rows.column("id").to_pylist(), kept.misfits) == ([2, 3], {1: bad})
    changed = changes_of([(RowKind.INSERT, 0, key) for key in range(3)], misfits={0: Misfit({"id": "bad"})})
    flags = rules("a > 0").kept_changes(changed, table("people"), "position 5", "log it")
    assert flags is not None
    assert flags.tolist() == [False, True, True]


def test_a_filter_needs_its_columns_in_changed_rows() -> None:
    whole = changes_of([(RowKind.INSERT, 0, key) for key in range(3)])
    partial = evolve(whole, layouts=np.array([[True, False]]))
    found = table("people")
    kept = rules("a > 0").kept_changes(whole, found, "position 5", "log it")
    assert kept is not None
    assert kept.tolist() == [False, True, True]
    assert rules("id > 1").kept_changes(partial, found, "position 5", "log it") is not None
    assert EVERY_COLUMN.kept_changes(partial, found, "position 5", "log it") is None
    said = (
        "position 5: the filter needs the column 'a', but the log does not contain its value in a changed row; log it"
    )
    with pytest.raises(SourceError, match=said):
        rules("a > 0").kept_changes(partial, found, "position 5", "log it")
