"""What ``LocalFile`` puts where a file has nothing for a column that has a ``defaultValue``."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.errors import SourceError, UsageError
from tests.connectors.file import local_files

COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "type": "int"},
    {"name": "price", "type": "decimal(5, 2)", "nullable": False, "defaultValue": "1.5"},
    {"name": "tags", "type": "array<string>", "defaultValue": ["new"]},
]
WITHOUT_LISTS = [*COLUMNS[:2], {"name": "tags", "type": "string", "defaultValue": "new"}]
PRICE = Decimal("1.50")


def rows(path: Path, columns: list[dict[str, Any]], **options: Any) -> list[tuple[Any, ...]]:
    made = local_files.source(path, schema={"columns": columns}, **options)
    found = plan(made)
    assert [column.nullable for column in found.schemas[0].columns] == [True, False, True]
    return [tuple(row.values()) for row in read(made, found)]


def test_json(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n{"price": null, "tags": null}\n{"id": 3, "price": 2, "tags": []}\n')
    assert rows(tmp_path, COLUMNS, file_format_type="json") == [
        (1, PRICE, ["new"]),
        (None, PRICE, ["new"]),
        (3, Decimal("2.00"), []),
    ]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_columns_that_a_file_does_not_have(format: str, tmp_path: Path) -> None:
    write = {"parquet": pq.write_table, "orc": orc.write_table}[format]
    write(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "older")
    write(pa.table({"tags": [None, ["x"]], "id": pa.array([2, 3], pa.int32())}), tmp_path / "younger")
    found = rows(tmp_path, COLUMNS, file_format_type=format)
    assert found == [(1, PRICE, ["new"]), (2, PRICE, ["new"]), (3, PRICE, ["x"])]


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tags,id\na,1\n,2\n")
    options = {"file_format_type": "csv", "csv_use_header_line": True}
    assert rows(tmp_path, WITHOUT_LISTS, **options) == [(1, PRICE, "a"), (2, PRICE, "new")]
    (tmp_path / "a.csv").write_text("1,,a\n2,2.25,\n")
    assert rows(tmp_path, WITHOUT_LISTS, file_format_type="csv") == [(1, PRICE, "a"), (2, Decimal("2.25"), "new")]


def test_sheets_and_elements(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<r><row><id>1</id></row></r>")
    assert rows(tmp_path, WITHOUT_LISTS, file_format_type="xml", xml_row_tag="row") == [(1, PRICE, "new")]
    (tmp_path / "a.xml").unlink()
    local_files.sheet(tmp_path / "a.xlsx", [1], [2, "2.5", "x"])
    assert rows(tmp_path, WITHOUT_LISTS, file_format_type="excel") == [(1, PRICE, "new"), (2, Decimal("2.50"), "x")]


def test_a_file_that_has_none_of_the_columns_is_refused(tmp_path: Path) -> None:
    """Its rows would be default values only: it is another table's."""
    pq.write_table(pa.table({"other": [1]}), tmp_path / "a")
    only = [{"name": "tags", "type": "string", "defaultValue": "new"}]
    made = local_files.source(tmp_path, schema={"columns": only}, file_format_type="parquet")
    with pytest.raises(SourceError, match="has no column tags; it has other"):
        read(made)


@pytest.mark.parametrize(
    ("kind", "written", "message"),
    [
        ("int", "x", "column 'v': defaultValue 'x' is not of type int"),
        ("timestamp", "CURRENT_TIMESTAMP", "column 'v': defaultValue must not be the current time"),
    ],
)
def test_values_that_cannot_be_a_default(kind: str, written: str, message: str, tmp_path: Path) -> None:
    column = {"name": "v", "type": kind, "defaultValue": written}
    with pytest.raises(UsageError, match=message):
        local_files.source(tmp_path, schema={"columns": [column]}, file_format_type="json")
