"""What only the file source promises: which files, which columns, and errors that say where."""

import datetime as dt
import gzip
import os
import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.source import Enumeration, PlanningContext
from seatunnel_core.connector_api.testing import Skipped, plan, read
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.connectors.filesystems.local import LocalFileSystem, LocalOpenFile
from seatunnel_core.errors import RowError, SourceChangedError, SourceError, UsageError
from seatunnel_core.spark.failure import kind_of
from seatunnel_core.work.failure import FailureKind
from tests.connectors.file import local_files
from tests.connectors.file.local_files import damaged, refusals

FIELDS = {"fields": {"id": "int", "name": "string"}}


source = partial(local_files.source, file_format_type="csv")


def rows(made: LocalFileSource, context: Skipped | None = None) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in read(made, context=context)]


def test_a_plain_csv_with_a_schema_needs_no_look_inside(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,"a"\n')
    assert source(tmp_path, schema=FIELDS).discover(PlanningContext(parallelism=2)) == ()
    assert source(tmp_path, schema=FIELDS, split_size=3).discover(PlanningContext(parallelism=2)) == ()
    assert len(source(tmp_path, schema=FIELDS, split_size=2).discover(PlanningContext(parallelism=2))) == 1
    assert len(source(tmp_path, schema=FIELDS).discover(PlanningContext(parallelism=2, rows_per_second=10))) == 1


def test_planning_in_the_driver_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text('1,"a"\n' * 10)
    made = source(tmp_path, schema=FIELDS, split_size=20)
    opened: list[str] = []
    monkeypatch.setattr(os, "open", lambda path, *rest, **more: opened.append(path))
    monkeypatch.setattr(pa, "OSFile", lambda path, *rest: opened.append(path))
    items = made.discover(PlanningContext(parallelism=2))
    whole = [{**item, "rows": 10, "quotes": None} for item in items]
    assert (len(made.enumerate(whole, PlanningContext(parallelism=2)).splits), opened) == (3, [])


def test_a_bad_value_names_file_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,"two\nlines"\n\nx,b\n')
    with pytest.raises(RowError, match=r"a\.csv, line 4, column 'id': 'x' is not an int"):
        rows(source(tmp_path, schema=FIELDS))


def test_the_line_is_counted_from_the_beginning_of_the_file_in_every_split(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("h,h\n" + "1,a\r\n" * 50 + "2\n" + "3,c\n" * 50)
    made = source(tmp_path, schema=FIELDS, split_size=30, skip_header_row_number=1, row_error_handle_way="SKIP")
    skipped = Skipped(fail=False)
    assert len(rows(made, skipped)) == 100
    assert skipped.errors == [f"{tmp_path}/a.csv, line 52: found 1 values, expected 2 (id, name)"]


@pytest.mark.parametrize("counted", [1, 2, 3, 1 << 20])
def test_a_line_end_of_two_signs_is_one_wherever_the_counting_is_cut(
    tmp_path: Path, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.file.formats.delimited.records.COUNTED_BYTES", counted)
    (tmp_path / "a.csv").write_text("1,a\r\n" * 50 + "2\n")
    with pytest.raises(RowError, match=r"a\.csv, line 51: found 1 values"):
        rows(source(tmp_path, schema=FIELDS, split_size=30, row_error_handle_way="FAIL"))


def test_bad_rows_are_left_out_one_by_one_when_the_job_says_so(tmp_path: Path) -> None:
    lines = [f"{number if number % 100 else 'bad'},n{number}" for number in range(10_000)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    skipped = Skipped(fail=False)
    found = rows(source(tmp_path, schema=FIELDS), skipped)
    assert [row[0] for row in found] == [number for number in range(10_000) if number % 100]
    assert len(skipped.errors) == 100


def test_quoted_empty_values_are_null_where_they_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"1",""\n"",""\n,\n')
    assert rows(source(tmp_path, schema=FIELDS)) == [(1, ""), (None, ""), (None, None)]


def test_not_nullable_is_held(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,a\n,b\n")
    columns = [{"name": "id", "type": "int", "nullable": False}, {"name": "name", "type": "string"}]
    with pytest.raises(RowError, match="line 2, column 'id': the value is null, but the schema has nullable = false"):
        rows(source(tmp_path, schema={"columns": columns}))


def test_a_file_that_another_one_replaces_while_it_is_open_is_refused(tmp_path: Path) -> None:
    """A stream opens the path once more, and the file behind the open descriptor is still what was listed."""
    path = tmp_path / "a.csv"
    path.write_text("1,a\n")
    (version,) = LocalFileSystem().walk(str(path), recursive=True)
    with LocalOpenFile(version) as file:
        assert file.stream().read() == b"1,a\n"
        (tmp_path / "b.csv").write_text("2,b\n")
        (tmp_path / "b.csv").replace(path)
        with pytest.raises(SourceChangedError, match=r"a\.csv changed after it was listed"):
            file.stream()


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_name_that_is_no_text_names_a_file_all_the_same(tmp_path: Path, codec: str) -> None:
    text = b"1,a\n"
    (tmp_path / os.fsdecode(b"caf\xe9.csv")).write_bytes(gzip.compress(text) if codec == "gzip" else text)
    assert rows(source(tmp_path, schema=FIELDS, compress_codec=codec)) == [(1, "a")]


def test_a_pipe_is_no_file_with_nothing_in_it(tmp_path: Path) -> None:
    """It cannot be read twice; and its size is 0, as that of an empty file."""
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(SourceError, match=r"a\.csv is a pipe, a socket or a device"):
        source(tmp_path, schema=FIELDS).enumerate((), PlanningContext(parallelism=1))


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_packed_file_that_is_cut_off_is_named(tmp_path: Path, format: str) -> None:
    packed = gzip.compress(b"".join(b'{"id": %d}\n' % number for number in range(1000)))
    (tmp_path / "a.gz").write_bytes(packed[:-100])
    made = source(
        tmp_path, file_format_type=format, compress_codec="gzip", schema=FIELDS, quote_char="", read_columns=[]
    )
    with pytest.raises(SourceError, match=r"a\.gz cannot be read: Truncated compressed stream") as caught:
        rows(made)
    assert kind_of(caught.value) is FailureKind.DATA


@pytest.mark.parametrize("cut", [-9, 40])
def test_a_packed_file_that_is_cut_off_is_named_where_columns_are_inferred(tmp_path: Path, cut: int) -> None:
    """The message was "Truncated compressed stream", without a file, and the job tried again for minutes."""
    packed = gzip.compress(b"id,v\n" + b"".join(b"%d,a\n" % number for number in range(20_000)))
    for number in range(3):
        (tmp_path / f"p{number}.csv.gz").write_bytes(packed[:cut] if number == 1 else packed)
    made = source(tmp_path, compress_codec="gzip", csv_use_header_line=True)
    with pytest.raises(SourceError, match=r"p1\.csv\.gz") as caught:
        rows(made)
    assert kind_of(caught.value) is FailureKind.DATA


def test_a_line_that_is_too_long_to_be_held_is_an_error_and_not_the_end_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.file.formats.delimited.records.LONGEST_RECORD", 100)
    monkeypatch.setattr("seatunnel_core.connectors.file.formats.delimited.reader.BLOCK_BYTES", 64)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1,a\n2," + b"x" * 300 + b"\n3,c\n"))
    made = source(tmp_path, compress_codec="gzip", schema=FIELDS)
    with pytest.raises(RowError, match=r"a\.gz, line 2: .* has more than 100 bytes"):
        rows(made)
    with pytest.raises(RowError, match="line 2"):
        rows(made, Skipped(fail=False))


def test_a_file_that_was_written_again_with_the_same_size_is_refused(tmp_path: Path) -> None:
    """Its size alone does not tell."""
    path = tmp_path / "a.csv"
    path.write_text("1,a\n")
    made = source(tmp_path, schema=FIELDS)
    found = plan(made)
    before = path.stat().st_mtime_ns
    path.write_text("2,b\n")
    os.utime(path, ns=(before + 1, before + 1))
    with pytest.raises(
        SourceChangedError, match=r"a\.csv changed after it was listed: it was modified \(4 bytes when listed, 4 now\)"
    ):
        read(made, found)


def test_a_file_that_changed_after_it_was_listed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,a\n")
    made = source(tmp_path, schema=FIELDS)
    found = plan(made)
    path.write_text("1,a\n2,b\n")
    with pytest.raises(
        SourceChangedError, match=r"a\.csv changed after it was listed: it was modified \(4 bytes when listed, 8 now\)"
    ):
        read(made, found)


def test_a_header_gives_the_order_of_columns_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,a\n")
    (tmp_path / "b.csv").write_text("name,extra,id\nb,x,2\n")
    assert rows(source(tmp_path, schema=FIELDS, csv_use_header_line=True)) == [(1, "a"), (2, "b")]
    (tmp_path / "c.csv").write_text("nome,id\nc,3\n")
    with pytest.raises(SourceError, match=r"c\.csv: the header has no column name; it has nome, id"):
        rows(source(tmp_path, schema=FIELDS, csv_use_header_line=True))


def test_a_header_that_names_a_column_twice_is_refused_with_a_way_to_read_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# made by hand\nid,id\n1,a\n")
    with pytest.raises(
        SourceError, match=r"a\.csv: the header contains id more than once; .*skip_header_row_number = 2"
    ):
        rows(source(tmp_path, schema=FIELDS, csv_use_header_line=True, skip_header_row_number=1))
    assert rows(source(tmp_path, schema=FIELDS, csv_use_header_line=False, skip_header_row_number=2)) == [(1, "a")]


def test_folders_of_the_path_become_columns(tmp_path: Path) -> None:
    for year in (2012, 2013):
        folder = tmp_path / f"year={year}" / "city=New%20York"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("1,a\n")
    assert rows(source(tmp_path, schema=FIELDS)) == [(1, "a", "2012", "New York"), (1, "a", "2013", "New York")]
    assert rows(source(tmp_path, schema=FIELDS, parse_partition_from_path=False)) == [(1, "a"), (1, "a")]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["a.csv", "b.txt", "c.csv"]),
        ({"recursive_file_scan": False}, ["a.csv", "b.txt"]),
        ({"filename_extension": "csv"}, ["a.csv", "c.csv"]),
        ({"file_filter_pattern": r"[ab]\..*"}, ["a.csv", "b.txt"]),
        ({"file_filter_pattern": r".*/deep/.*"}, ["c.csv"]),
        ({"file_filter_modified_start": "2024-01-31 12:00:00"}, ["b.txt", "c.csv"]),
        ({"file_filter_modified_end": "2024-01-31 12:00:00"}, ["a.csv"]),
        ({"file_filter_modified_start": "2024-01-31", "file_filter_modified_end": "2024-02-01"}, ["a.csv", "b.txt"]),
    ],
)
def test_which_files_are_read(tmp_path: Path, options: dict[str, Any], names: list[str]) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.csv", "b.txt", "deep/c.csv", ".hidden", "_SUCCESS"):
        (tmp_path / name).write_text("1,a\n")
    for name, changed in (("a.csv", "2024-01-31 11:59:59"), ("b.txt", "2024-01-31 12:00:00")):
        seconds = dt.datetime.fromisoformat(changed).timestamp()
        os.utime(tmp_path / name, (seconds, seconds))
    found = plan(source(tmp_path, schema=FIELDS, **options))
    assert [os.path.basename(split.body["path"]) for split in found.splits] == names


def test_what_is_no_moment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a time such as \"2024-01-31 12:00:00\", found 'today'"):
        source(tmp_path, file_filter_modified_end="today")


def test_patterns_files_and_empty_folders(tmp_path: Path) -> None:
    assert rows(source(tmp_path, schema=FIELDS)) == []
    assert plan(source(tmp_path)) == Enumeration(schemas=(), splits=())
    for name in ("a1", "a2", "b1"):
        (tmp_path / name).write_text(f"1,{name}\n")
    assert rows(source(tmp_path / "a*", schema=FIELDS)) == [(1, "a1"), (1, "a2")]
    assert rows(source(Path(f"file://{tmp_path}/b1"), schema=FIELDS)) == [(1, "b1")]
    with pytest.raises(SourceError, match="no file matches the pattern"):
        rows(source(tmp_path / "c*", schema=FIELDS))
    with pytest.raises(SourceError, match="/absent cannot be listed: No such file"):
        rows(source(tmp_path / "absent", schema=FIELDS))


def test_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("1,漢字\n".encode("gbk") * 3)
    assert rows(source(tmp_path, schema=FIELDS, encoding="GBK", split_size=2)) == [(1, "漢字")] * 3


def test_text_is_split_at_its_delimiter_and_without_schema_read_as_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text('1\x01say "hi"\n2\x01\n')
    assert rows(source(tmp_path, file_format_type="text", schema=FIELDS)) == [(1, 'say "hi"'), (2, None)]
    assert rows(source(tmp_path, file_format_type="text", split_size=4)) == [('1\x01say "hi"',), ("2\x01",)]


def test_parquet_files_are_cut_at_row_groups_and_brought_to_one_type(tmp_path: Path) -> None:
    for name, kind in (("a", pa.int32()), ("b", pa.int64())):
        pq.write_table(pa.table({"id": pa.array(range(10), kind)}), tmp_path / name, row_group_size=4)
    made = source(tmp_path, file_format_type="parquet", split_size=1)
    found = plan(made)
    assert (len(found.splits), str(found.schemas[0].columns.field("id").type)) == (6, "int64")
    assert [row["id"] for row in read(made, found)] == [*range(10), *range(10)]
    (tmp_path / "c").write_text("no parquet")
    with pytest.raises(SourceError, match="/c is not a Parquet file"):
        plan(made)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "x"}', "line 2, column 'id': 'x' is not of type int"),
        ('{"id": 1.5}', "line 2, column 'id': 1.5 is not of type int"),
        ('{"id": 3000000000}', "line 2, column 'id': 3000000000 is not of type int"),
        ("[1]", "line 2: expected a JSON object"),
        ("{", "line 2: not a JSON object on one line"),
    ],
)
def test_a_bad_json_value_names_file_line_and_column(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n' + line + '\n{"id": 2}\n')
    with pytest.raises(RowError, match=message):
        rows(source(tmp_path, file_format_type="json", schema=FIELDS))


def test_a_split_of_json_lines_reads_what_stands_before_it_only_for_the_line_of_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read all of that for each piece of a split as soon as a column had a type like date or decimal."""
    path = tmp_path / "a.json"
    path.write_text('{"day": "2020-02-29"}\n' * 30)
    made = source(path, file_format_type="json", schema={"fields": {"day": "date"}}, split_size=300)
    starts: list[int] = []
    read_range = LocalOpenFile.read_range
    monkeypatch.setattr(
        LocalOpenFile,
        "read_range",
        lambda file, start, end: starts.append(start) or read_range(file, start, end),
    )
    found = plan(made)
    last = found.splits[-1]
    assert last.body["start"] > 300
    assert read(made, found, [last])
    assert min(starts) >= last.body["start"] - 1
    path.write_text('{"day": "2020-02-29"}\n' * 29 + '{"day": "2020-02-30"}\n')
    with pytest.raises(RowError, match=r"a\.json, line 30, column 'day': '2020-02-30' is not of type date"):
        rows(made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": {"fields": {"id": "integer"}}}, "did you mean int"),
        ({"schema": {"fields": {"id": "float_vector(2)"}}}, "use json"),
        (
            {"schema": FIELDS, "field_delimiter": "||"},
            "one character .*; for other delimiters set file_format_type = text, or",
        ),
        ({"schema": FIELDS, "field_delimiter": "a\n"}, "contains a line break"),
        ({"schema": FIELDS, "date_format": "DD.MM.yyyy"}, "use yyyy MM dd"),
        ({"schema": FIELDS, "encoding": "klingon"}, "is unknown"),
    ],
)
def test_options_that_cannot_work_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, SourceError), match=message):
        source(tmp_path, **options)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["month=1"], {1, 3}),
        (["year=2013/month=1", "year=2014"], {1, 3}),
        (["year=2013"], {1, 2}),
        (["/year=2013/month=12/"], {2}),
        (["month=2"], set()),
        ([], {1, 2, 3}),
    ],
)
def test_only_the_partitions_that_are_asked_for_are_read(tmp_path: Path, wanted: list[str], found: set[int]) -> None:
    for number, folder in enumerate(("year=2013/month=1", "year=2013/month=12", "year=2014/month=1"), 1):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.csv").write_text(f"{number},a\n")
    made = source(tmp_path, schema=FIELDS, read_partitions=wanted)
    assert {row[0] for row in rows(made)} == found


def test_moments_of_96_bits_have_all_years(tmp_path: Path) -> None:
    """They became nanoseconds of 64 bits: the year 9999 was 1816, and the year 1 was 1754, without a word."""
    moments = [dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23), None]
    table = pa.table(
        {"at": pa.array(moments, pa.timestamp("us")), "all": pa.array([moments] * 4, pa.list_(pa.timestamp("us")))}
    )
    pq.write_table(table, tmp_path / "a", use_deprecated_int96_timestamps=True)
    made = local_files.source(tmp_path, file_format_type="parquet")
    assert read(made) == [{"at": at, "all": moments} for at in moments]
    declared = local_files.source(tmp_path, file_format_type="parquet", schema={"fields": {"at": "timestamp"}})
    assert rows(declared) == [(at,) for at in moments]


def test_damaged_parquet_files_are_errors_that_name_them(tmp_path: Path) -> None:
    """A changed byte in a page without a checksum gave texts that are no texts, which failed later and elsewhere."""
    chance = random.Random(2)
    path = tmp_path / "a.parquet"
    numbers = range(2000)
    columns = {"id": list(numbers), "name": [str(chance.random()) for _ in numbers]}
    pq.write_table(pa.table(columns), path, compression="none", row_group_size=700)
    whole = path.read_bytes()
    contents = (damaged(whole, chance, chance.choice([1, 5, 30]), index_bytes=1500) for _ in range(100))
    refused = refusals(path, contents, file_format_type="parquet")
    assert len(refused) > 20
    assert all("a.parquet" in message for message in refused)
