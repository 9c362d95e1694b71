"""How values stand in files: dictionaries, moments, nulls, and what a format cannot hold."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import read, stage
from seatunnel_core.connector_api.testing.drive import place
from seatunnel_core.connectors.file.formats.writer import FileStyle
from seatunnel_core.errors import RowError
from tests.connectors.file import local_files
from tests.connectors.file.test_local_file_sink import SCHEMA, rows, sink


def written(path: Path, style: FileStyle, *batches: pa.RecordBatch) -> str:
    writer = style.open(pa.OSFile(str(path), "wb"), batches[0].schema)
    for batch in batches:
        writer.write(style.writer.prepared(style, batch))
    writer.close()
    return path.read_text()


def test_only_columns_whose_values_come_again_get_a_dictionary(tmp_path: Path) -> None:
    numbers = range(20_000)
    columns = {"key": [*numbers], "kind": [number % 7 for number in numbers], "price": [Decimal(7)] * len(numbers)}
    table = pa.table(columns, pa.schema([("key", pa.int64()), ("kind", pa.int64()), ("price", pa.decimal128(9, 2))]))
    writer = FileStyle(format="parquet", codec="snappy").open(pa.OSFile(str(tmp_path / "x"), "wb"), table.schema)
    writer.write(table.to_batches()[0])
    writer.close()
    found = pq.ParquetFile(tmp_path / "x")
    chunks = [found.metadata.row_group(0).column(number) for number in range(3)]
    assert [chunk.has_dictionary_page for chunk in chunks] == [False, True, True]
    assert (chunks[2].physical_type, found.read().equals(table)) == ("INT32", True)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.binary()])
def test_a_text_file_refuses_what_it_cannot_hold_in_every_type_that_has_texts(
    tmp_path: Path, kind: pa.DataType
) -> None:
    """Parquet files of other programs have such columns."""
    batch = pa.record_batch({"a": pa.array(["x,y"]).cast(kind)})
    with pytest.raises(RowError, match="column 'a': 'x,y' contains the field delimiter"):
        written(tmp_path / "a", FileStyle(format="text", delimiter=","), batch)


def test_timestamps_of_parquet_may_have_the_form_of_old_readers(tmp_path: Path) -> None:
    moment = dt.datetime(2024, 2, 29, 12, 30, 5, 123456)
    old = {"file_format_type": "parquet", "parquet_avro_write_timestamp_as_int96": True}
    local_files.write(tmp_path, {"t": "timestamp"}, [{"t": moment}], **old)
    (file,) = tmp_path.glob("*.parquet")
    assert pq.ParquetFile(file).schema.column(0).physical_type == "INT96"
    assert read(local_files.source(tmp_path, file_format_type="parquet")) == [{"t": moment}]


def test_a_parquet_file_may_hold_what_arrow_cannot_compare(tmp_path: Path) -> None:
    batch = pa.record_batch({"a": pa.nulls(20_000, pa.decimal32(5, 2)), "b": pa.repeat("x", 20_000)})
    writer = FileStyle(format="parquet").open(pa.OSFile(str(tmp_path / "a.parquet"), "wb"), batch.schema)
    writer.write(batch)
    writer.close()
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.num_rows == 20_000


def test_a_delimiter_that_stands_in_numbers_and_times_is_seen(tmp_path: Path) -> None:
    moment = pa.array([dt.datetime(2020, 7, 1, 12)], pa.timestamp("us"))
    batch = pa.record_batch({"at": moment, "name": ["x"]})
    with pytest.raises(RowError, match=r"column 'at': .* contains the field delimiter"):
        written(tmp_path / "a", FileStyle(format="text", delimiter=":"), batch)
    assert written(tmp_path / "b", FileStyle(format="csv", delimiter=" "), batch) == '"2020-07-01 12:00:00.000000" x\n'


def test_a_moment_is_written_in_utc_whatever_zone_its_column_names(tmp_path: Path) -> None:
    moments = pa.array([dt.datetime(2020, 7, 1, 12, tzinfo=dt.UTC)], pa.timestamp("us", "Europe/Berlin"))
    text = written(tmp_path / "a", FileStyle(format="text", delimiter=","), pa.record_batch({"at": moments}))
    assert text == "2020-07-01T12:00:00.000000Z\n"


def test_a_null_in_the_only_column_of_a_csv_file_is_a_row_and_no_empty_line(tmp_path: Path) -> None:
    numbers: list[list[int | None]] = [[None, 1, None, None], [2, 3], [None]]
    batches = [pa.record_batch({"id": pa.array(some, pa.int64())}) for some in numbers]
    assert written(tmp_path / "a.csv", FileStyle(format="csv"), *batches) == '""\n1\n""\n""\n2\n3\n""\n'
    made = local_files.source(tmp_path / "a.csv", file_format_type="csv", schema={"fields": {"id": "bigint"}})
    found = [row["id"] for row in read(made)]
    assert found == [value for some in numbers for value in some]


def test_a_text_file_refuses_a_value_that_it_cannot_hold(tmp_path: Path) -> None:
    made = sink(tmp_path, file_format_type="text", field_delimiter=";")
    with pytest.raises(RowError, match="column 'city': 'a;b' contains the field delimiter"):
        stage(made, SCHEMA, [rows((1, "a;b"))], place())
