"""Files in archives: every format, one member or several, and archives that are damaged."""

import gzip
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import RowError, SourceError, UsageError
from tests.connectors.file import local_files

FIELDS = {"fields": {"id": "bigint", "name": "string"}}
ROWS = [{"id": number, "name": f"näme {number}"} for number in range(50)]


source = partial(local_files.source, file_format_type="csv", schema=FIELDS)


def rows(made: LocalFileSource) -> list[dict[str, Any]]:
    return read(made)


def packed(path: Path, kind: str, files: Mapping[str, bytes]) -> None:
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    elif kind == "gz":
        (content,) = files.values()
        path.write_bytes(gzip.compress(content))
    else:
        with tarfile.open(path, "w:gz" if kind == "tar_gz" else "w") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


def as_table(part: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(part, pa.schema([("id", pa.int64()), ("name", pa.string())]))


def as_csv(part: list[dict[str, Any]]) -> bytes:
    return "".join(f"{row['id']},{row['name']}\n" for row in part).encode()


def as_json(part: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in part).encode()


def as_xml(part: list[dict[str, Any]]) -> bytes:
    return f"<all>{''.join('<row><id>{id}</id><name>{name}</name></row>'.format(**row) for row in part)}</all>".encode()


def as_parquet(part: list[dict[str, Any]]) -> bytes:
    pq.write_table(as_table(part), out := io.BytesIO(), row_group_size=7)
    return out.getvalue()


def as_orc(part: list[dict[str, Any]]) -> bytes:
    orc.write_table(as_table(part), out := io.BytesIO())
    return out.getvalue()


def as_excel(part: list[dict[str, Any]]) -> bytes:
    local_files.sheet(out := io.BytesIO(), *(row.values() for row in part))
    return out.getvalue()


FORMATS = {"csv": as_csv, "json": as_json, "xml": as_xml, "parquet": as_parquet, "orc": as_orc, "excel": as_excel}


@pytest.mark.parametrize("kind", ["zip", "tar", "tar_gz", "gz"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_in_every_archive(tmp_path: Path, format: str, kind: str) -> None:
    write: Callable[[list[dict[str, Any]]], bytes] = FORMATS[format]
    if kind == "gz":
        packed(tmp_path / "a", kind, {"a": write(ROWS[:30])})
        packed(tmp_path / "b", kind, {"b": write(ROWS[30:])})
    else:
        members = {"a": write(ROWS[:10]), "deep/b": write(ROWS[10:30]), "deep/_left/out": b"x", "__MACOSX/x": b"x"}
        packed(tmp_path / "a", kind, members)
        packed(tmp_path / "b", kind, {"c": write(ROWS[30:])})
    for parallelism in (1, 8):
        made = source(tmp_path, file_format_type=format, archive_compress_codec=kind, xml_row_tag="row", split_size=10)
        found = plan(made, PlanningContext(parallelism=parallelism))
        assert len(found.splits) == 2
        assert read(made, found) == ROWS


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_without_a_schema_the_first_member_has_the_columns(tmp_path: Path, format: str) -> None:
    packed(tmp_path / "a", "zip", {"a": FORMATS[format](ROWS[:9]), "b": FORMATS[format](ROWS[9:])})
    assert rows(source(tmp_path, file_format_type=format, archive_compress_codec="ZIP", schema={})) == ROWS


def test_empty_members_have_no_rows(tmp_path: Path) -> None:
    packed(tmp_path / "a", "tar", {"empty": b"", "a": b"1,a\n"})
    assert rows(source(tmp_path, archive_compress_codec="tar")) == [{"id": 1, "name": "a"}]
    packed(tmp_path / "a", "tar", {})
    assert rows(source(tmp_path, archive_compress_codec="tar")) == []


def test_a_bad_value_names_the_archive_its_member_and_the_line(tmp_path: Path) -> None:
    packed(tmp_path / "a.zip", "zip", {"a.csv": b"1,a\n", "b.csv": b"1,a\nx,b\n"})
    with pytest.raises(RowError, match=r"/a\.zip!b\.csv, line 2, column 'id': 'x' is not a bigint"):
        rows(source(tmp_path, archive_compress_codec="zip"))


@pytest.mark.parametrize("kind", ["zip", "tar_gz", "gz"])
def test_damaged_archives_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    packed(path, kind, {"a.csv": as_csv(ROWS * 20)})
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"PK\3\4" + b"x" * 100, whole[:60] + b"\xff" * 99 + whole[160:]):
        path.write_bytes(damaged)
        with pytest.raises(SourceError, match=r"/a(!a(\.csv)?)? cannot be unpacked: "):
            rows(source(tmp_path, archive_compress_codec=kind))


def test_binary_files_are_copied_with_their_archive(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="archive_compress_codec"):
        source(tmp_path, file_format_type="binary", schema={}, archive_compress_codec="zip")


def test_no_unpacked_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    packed(tmp_path / "a.zip", "zip", {"a": b"1,a\n", "b": b"2,b\n"})
    made = source(tmp_path / "a.zip", archive_compress_codec="zip")
    reading = made.read(plan(made).splits[0], None)  # type: ignore[arg-type]  # no row is bad
    next(reading)
    assert list((tmp_path / "tmp").iterdir()) == []
    reading.close()  # type: ignore[attr-defined]
    shutil.rmtree(tmp_path / "tmp")
