"""Files that are copied byte by byte: names, pieces, and what is refused."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.capabilities import can_roll_back
from seatunnel_core.connector_api.testing import Skipped, commit, plan, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.file.formats.binary import COLUMNS
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import CommitError, RowError, SinkError, SourceError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.file import local_files

SCHEMA = TableSchema(table="default", columns=COLUMNS)


source = partial(local_files.source, file_format_type="binary")
sink = partial(local_files.sink, file_format_type="binary")


def pieces(*rows: tuple[Any, Any, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(each) for each in zip(*rows, strict=True)], schema=COLUMNS)


def copied(made: LocalFileSource, target: LocalFileSink) -> None:
    for split in plan(made).splits:
        staging = place(unit=split.index)
        batches = [batch.rows for batch in made.read(split, Skipped())]
        commit(target, [stage(target, SCHEMA, batches, staging)], staging)


@pytest.mark.parametrize("chunk", [1, 7, 100, 10**6])
def test_bytes_and_names_are_kept(tmp_path: Path, chunk: int) -> None:
    files = {"a.jpg": os.urandom(100), "deep/er/b c.xml": b"<x/>", "empty": b"", "n\u00e4me": b"\r\n\0"}
    for name, content in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
    copied(source(tmp_path / "in", binary_chunk_size=chunk), sink(tmp_path / "out"))
    found = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in found} == files


def test_a_row_may_hold_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "empty").touch()
    made = source(tmp_path, binary_complete_file_mode=True, binary_chunk_size=3)
    found = [batch.rows.to_pylist() for split in plan(made).splits for batch in made.read(split, Skipped())]
    assert [[(row["data"], row["partIndex"]) for row in rows] for rows in found] == [[(b"0123456789", 0)], [(b"", 0)]]
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**31)
    with pytest.raises(SourceError, match=r"/large has 2147483648 bytes, but a row must be smaller than 2 GiB; remove"):
        plan(made)


@pytest.mark.parametrize(("path", "names"), [("in/a", {"a"}), ("in/*", {"a", "deep/a"}), ("i?", {"in/a", "in/deep/a"})])
def test_names_begin_where_the_path_has_its_first_sign_of_a_pattern(tmp_path: Path, path: str, names: set[str]) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("in/a", "in/deep/a"):
        (tmp_path / name).write_bytes(b"x")
    made = source(tmp_path / path)
    found = [batch.rows for split in plan(made).splits for batch in made.read(split, Skipped())]
    assert {name.as_py() for rows in found for name in rows.column("relativePath")} == names


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/./b", "", None, ".seatunnel/job/1", "a\0b", "x" * 256])
def test_a_path_that_leads_elsewhere_is_an_error_of_its_row(tmp_path: Path, path: str | None) -> None:
    with pytest.raises(RowError, match="column 'relativePath': "):
        stage(sink(tmp_path), SCHEMA, [pieces((b"x", path, 0))], place())


def test_a_piece_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="file 'a': partIndex is 2, expected 1; the pieces of a file must arrive"):
        stage(sink(tmp_path), SCHEMA, [pieces((b"x", "a", 0)), pieces((b"y", "b", 0), (b"z", "a", 2))], place())
    with pytest.raises(RowError, match="file 'a': data is null"):
        stage(sink(tmp_path), SCHEMA, [pieces((None, "a", 0), (b"", "b", 0))], place(attempt="2-0"))


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(SinkError, match="/a already exists, and binary files keep their names; move the existing"):
        stage(sink(tmp_path), SCHEMA, [pieces((b"new", "a", 0))], place())
    dropping = sink(tmp_path, data_save_mode="DROP_DATA")
    dropping.apply_save_mode(sink_place(place()))
    commit(dropping, [stage(dropping, SCHEMA, [pieces((b"new", "a", 0))], place())], place())
    assert (tmp_path / "a").read_bytes() == b"new"


def test_other_columns_are_refused_before_data_moves(tmp_path: Path) -> None:
    columns = pa.schema([("data", pa.string()), ("relativePath", pa.string())])
    with pytest.raises(SinkError, match=r"the column data is a string; read the files with file_format_type = binary"):
        sink(tmp_path).check_schema(TableSchema(table="default", columns=columns))
    with pytest.raises(SourceError, match="binary files always have the columns data, relativePath, partIndex"):
        source(tmp_path, schema={"fields": {"id": "int"}})
    with pytest.raises(UsageError, match="binary_chunk_size"):
        source(tmp_path, binary_chunk_size=0)


def test_what_was_copied_cannot_be_taken_back(tmp_path: Path) -> None:
    """A name does not tell any more which job published the file."""
    assert not can_roll_back(sink(tmp_path))


@pytest.mark.parametrize("published", ["", ".", "..", "a/b", ".seatunnel", 7])
def test_a_committable_publishes_under_no_name_that_leads_elsewhere(tmp_path: Path, published: Any) -> None:
    made = sink(tmp_path)
    good = stage(made, SCHEMA, [pieces((b"x", "a", 0))], place())
    name = good.body["files"][0][0]
    for files in ([[name, "", published]], [[name, ""]]):
        with pytest.raises(CommitError, match="was not created by this sink"):
            commit(made, [evolve(good, body={"files": files})], place())
    commit(made, [good], place())
    assert (tmp_path / "a").read_bytes() == b"x"


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).write_bytes(b"x")
    made = source(tmp_path)
    with pytest.raises(SourceError, match=r"caf\\udce9': the file name is not UTF-8"):
        list(made.read(plan(made).splits[0], Skipped()))
