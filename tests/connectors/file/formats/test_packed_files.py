"""Text files that are packed, in each of the ways, and packed files that are damaged."""

import gzip
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import cramjam
import lzallright
import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, options_of, read, stage
from seatunnel_core.connector_api.testing.drive import place
from seatunnel_core.connectors.file.formats.packing import SUFFIXES
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import SourceError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.file import local_files

FIELDS = {"id": "bigint", "name": "string"}
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])


def some_rows(number: int) -> list[dict[str, Any]]:
    chance = random.Random(number)
    return [{"id": each, "name": f"ñ {chance.random()}"} for each in range(number)]


def source(path: Path, codec: str, **options: Any) -> LocalFileSource:
    given = {"file_format_type": "csv", "schema": {"fields": FIELDS}, "compress_codec": codec}
    return local_files.source(path, **{**given, **options})


def write(path: Path, codec: str, rows: list[dict[str, Any]], format: str) -> Path:
    made = local_files.sink(path, file_format_type=format, compress_codec=codec)
    batches = [pa.RecordBatch.from_pylist(part, COLUMNS) for part in (rows[:1], rows[1:])]
    commit(made, [stage(made, TableSchema(table="default", columns=COLUMNS), batches, place())], place())
    return next(each for each in path.iterdir() if each.is_file())


@pytest.mark.parametrize("format", ["csv", "text", "json"])
@pytest.mark.parametrize("codec", SUFFIXES)
def test_what_is_packed_comes_back(tmp_path: Path, codec: str, format: str) -> None:
    """More than one block of the codec, and more than one of the parser."""
    rows = some_rows(12_000 if codec in ("lzo", "snappy", "zlib") and format == "csv" else 50)
    path = write(tmp_path, codec, rows, format)
    assert path.name.endswith({"csv": ".csv", "text": ".txt", "json": ".json"}[format] + SUFFIXES[codec])
    assert read(source(tmp_path, codec, file_format_type=format)) == rows


def lzop(*blocks: bytes, flags: int = 1, version: int = 0x1030, extra: bytes = b"") -> bytes:
    """As lzop's source writes it."""
    found = struct.pack(">HHH", version, 0x2080, 0x940) + (b"\1\5" if version >= 0x940 else b"\1")
    found += struct.pack(">I", flags) + bytes(12 if version >= 0x940 else 8) + b"\5a.csv"
    found = b"\x89LZO\0\r\n\x1a\n" + found + struct.pack(">I", zlib.adler32(found))
    if flags & 0x40:
        found += struct.pack(">I", len(extra)) + extra + bytes(4)
    for block in blocks:
        packed = bytes(lzallright.LZOCompressor().compress(block))
        packed = packed if len(packed) < len(block) else block
        found += struct.pack(">II", len(block), len(packed))
        found += struct.pack(">I", zlib.adler32(block)) if flags & 0x1 else b""
        found += struct.pack(">I", zlib.crc32(block)) if flags & 0x100 else b""
        if len(packed) < len(block):
            found += struct.pack(">I", zlib.adler32(packed)) if flags & 0x2 else b""
            found += struct.pack(">I", zlib.crc32(packed)) if flags & 0x200 else b""
        found += packed
    return found + bytes(4)


@pytest.mark.parametrize("flags", [0, 1, 3, 0x100, 0x303, 0x03000041])
@pytest.mark.parametrize("version", [0x900, 0x1030])
def test_all_kinds_of_files_of_lzop_are_read(tmp_path: Path, flags: int, version: int) -> None:
    blocks = (b"1,a\n" * 100, b"2,b\n")
    one = lzop(*blocks, flags=flags, version=version, extra=b"more")
    (tmp_path / "a.lzo").write_bytes(one + lzop(b"3,c\n"))
    assert [row["id"] for row in read(source(tmp_path, "lzo"))] == [*[1] * 100, 2, 3]


GOOD = {
    "gzip": gzip.compress(b"1,a\n" * 500),
    "zlib": zlib.compress(b"1,a\n" * 500),
    "snappy": bytes(cramjam.snappy.compress(b"1,a\n" * 500)),
    "lzo": lzop(b"1,a\n" * 500),
}


@pytest.mark.parametrize("codec", GOOD)
def test_files_that_were_joined_are_read_to_the_end_of_the_last(tmp_path: Path, codec: str) -> None:
    (tmp_path / "a").write_bytes(GOOD[codec] * 3)
    assert len(read(source(tmp_path, codec))) == 1_500


@pytest.mark.parametrize("codec", GOOD)
def test_what_follows_the_end_is_no_end(tmp_path: Path, codec: str) -> None:
    (tmp_path / "a").write_bytes(GOOD[codec] + b"1,a\n" * 5)
    made = source(tmp_path, codec)
    with pytest.raises(SourceError, match=r"/a cannot be read: "):
        read(made)


@pytest.mark.parametrize("format", ["csv", "json", "xml"])
@pytest.mark.parametrize("codec", GOOD)
def test_damaged_files_are_named(tmp_path: Path, codec: str, format: str) -> None:
    good = GOOD[codec]
    for damaged in (good[: len(good) - 5], good[:20], b"1,a\n" * 50, good[:-6] + b"\xff" + good[-5:]):
        (tmp_path / "a").write_bytes(damaged)
        made = source(tmp_path, codec, file_format_type=format, xml_row_tag="row")
        with pytest.raises(SourceError, match=r"/a(,| cannot be read: )"):
            read(made)


def test_a_codec_says_which_package_its_tasks_import(tmp_path: Path) -> None:
    assert source(tmp_path, "lzo").task_modules == ("lzallright",)
    made = LocalFileSink(options_of(LocalFileSink, {"path": str(tmp_path), "compress_codec": "snappy"}))
    assert made.task_modules == ("cramjam",)
