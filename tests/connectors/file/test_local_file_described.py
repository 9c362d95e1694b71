"""A ``schema`` block without columns: its keys and its comment go with the columns that the files have."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.errors import SourceError, UsageError
from seatunnel_core.rows.batch import ConstraintKey, TableSchema
from tests.connectors.file.local_files import source

UNIQUE = {"constraintName": "u", "constraintType": "UNIQUE_KEY", "constraintColumns": [{"columnName": "day"}]}
BLOCK = {"table": "shop.orders", "comment": "sold", "primaryKey": {"columnNames": ["id"]}, "constraintKeys": [UNIQUE]}


def files(folder: Path, format: str) -> Path:
    below = folder / "day=1"
    below.mkdir()
    table = pa.table({"id": [1, 2], "name": ["a", "b"]})
    if format == "csv":
        (below / "f.csv").write_text("id,name\n1,a\n2,b\n")
    else:
        (pq.write_table if format == "parquet" else orc.write_table)(table, below / "f")
    return folder


def schemas(folder: Path, format: str, block: dict[str, Any], **more: Any) -> list[TableSchema]:
    """As ``--check`` sees the table, and as a job does."""
    options = {"file_format_type": format, "csv_use_header_line": True, "schema": block, **more}
    (seen,) = source(folder, **options).planned_schemas() or ()
    (planned,) = plan(source(folder, **options)).schemas
    return [seen, planned]


@pytest.mark.parametrize("format", ["parquet", "orc", "csv"])
def test_keys_and_comment_go_with_the_columns_of_the_files(tmp_path: Path, format: str) -> None:
    for found in schemas(files(tmp_path, format), format, BLOCK):
        assert found.columns.names == ["id", "name", "day"]
        assert (found.table, found.comment, found.primary_key) == ("shop.orders", "sold", ("id",))
        assert found.constraint_keys == (ConstraintKey(name="u", kind="UNIQUE_KEY", columns=("day",)),)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_key_of_a_column_that_no_file_has_is_refused(tmp_path: Path, format: str) -> None:
    made = source(
        files(tmp_path, format),
        file_format_type=format,
        csv_use_header_line=True,
        schema={"primaryKey": {"columnNames": ["zz"]}},
    )
    message = (
        r"option 'schema': the primary key contains \['zz'\], which are not columns of the table: \['id', 'name', "
    )
    with pytest.raises(SourceError, match=message):
        made.planned_schemas()
    with pytest.raises(SourceError, match=message):
        plan(made)


def test_a_key_that_is_written_wrongly_is_refused_before_any_file_is_opened() -> None:
    with pytest.raises(UsageError, match=r"option 'schema': schema\.primaryKey contains no column"):
        source("/absent", file_format_type="parquet", schema={"primaryKey": {"name": "pk"}})


@pytest.mark.parametrize("block", [BLOCK, {**BLOCK, "fields": {"id": "bigint", "name": "string", "day": "string"}}])
def test_a_key_of_which_not_all_columns_are_read_is_none(tmp_path: Path, block: dict[str, Any]) -> None:
    for found in schemas(files(tmp_path, "parquet"), "parquet", block, read_columns=["name"]):
        assert (found.columns.names, found.primary_key, found.unique_key) == (["name", "day"], (), ("day",))


def test_text_is_read_as_whole_lines_when_no_column_is_declared(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("a\x01b,c\n")
    made = source(tmp_path, file_format_type="text", field_delimiter=",", schema={"table": "lines"})
    assert read(made) == [{"content": "a\x01b,c"}]
