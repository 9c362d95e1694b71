"""``Metadata``: database, table and kind of a row as columns."""

from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.transforms.metadata import Metadata
from tests.transforms.tables import PEOPLE, ROWS, changed, made

ALL = {"Database": "db", "Table": "tbl", "RowKind": "kind"}


@pytest.mark.parametrize(
    ("table", "fields", "expected"),
    [
        ("shop.people", ALL, ("shop", "people", "+U")),
        ("shop.sales.people", ALL, ("shop", "people", "+U")),
        ("people", ALL, (None, "people", "+U")),
        ("shop.people", {"Table": "t"}, ("people",)),
        ("shop.people", {}, ()),
    ],
)
def test_what_a_row_says_besides_its_values(
    table: str, fields: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    metadata, schema = made(Metadata, metadata_fields=fields), evolve(PEOPLE, table=table)
    assert metadata.output_schema(schema).columns.names == ["id", "name", "age", *fields.values()]
    assert changed(metadata, schema=schema)[2] == ("UPDATE_AFTER", (*ROWS[2], *expected))


def test_a_table_that_is_only_read_has_inserted_rows() -> None:
    assert changed(made(Metadata, metadata_fields={"RowKind": "k"}), kinds=None)[0][1][3] == "+I"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"database": "db"}, "database is unknown; supported \\(case-sensitive\\): Database, Table, RowKind"),
        ({"Delay": "ts"}, "no source of this version provides Delay"),
        ({"FilePath": "path"}, "no source of this version provides FilePath"),
        ({"Database": "x", "Table": "x"}, "two columns have the same name"),
    ],
)
def test_options_that_cannot_work(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"option 'metadata_fields': .*{message}"):
        made(Metadata, metadata_fields=fields)


def test_the_columns_must_be_new() -> None:
    with pytest.raises(TransformError, match=r"Metadata: the table .* already has a column name"):
        made(Metadata, metadata_fields={"Table": "name"}).output_schema(PEOPLE)
