"""Bytes that are no character of the encoding that the job names: they ended in an error of Python, without a place."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import Skipped, read
from seatunnel_core.errors import RowError, SourceError
from tests.connectors.file.local_files import source

FIELDS = {"fields": {"id": "int", "name": "string"}}


def of(path: Path, context: Skipped | None = None, **options: Any) -> list[dict[str, Any]]:
    return read(source(path, schema=options.pop("schema", FIELDS), **options), context=context)


BAD = [("GBK", b"1,\xd6\xd0\n2,a\xff\xff\n3,x\n"), ("windows-1252", b"1,\x80\n2,\x81\n3,x\n")]
BAD += [("UTF-16LE", "1,a\n2,".encode("utf-16-le") + b"\x00\xd8" + "\n3,x\n".encode("utf-16-le"))]


@pytest.mark.parametrize("kind", ["string", "bytes"])
@pytest.mark.parametrize("format", ["csv", "text"])
@pytest.mark.parametrize(("encoding", "content"), BAD)
def test_their_row_is_named_and_left_out_where_the_job_says_so(
    tmp_path: Path, encoding: str, content: bytes, format: str, kind: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    options: dict[str, Any] = {"file_format_type": format, "field_delimiter": ",", "encoding": encoding}
    options |= {"schema": {"fields": {"id": "int", "name": kind}}}
    with pytest.raises(RowError, match=rf"a\.csv, line 2, column 'name': .* not valid {encoding}"):
        of(tmp_path, **options)
    assert [row["id"] for row in of(tmp_path, Skipped(fail=False), **options)] == [1, 3]


def test_json_and_xml_name_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"id": 1}\n{"id": 2, "name": "\xff"}\n')
    with pytest.raises(RowError, match=r"a\.json, line 2"):
        of(tmp_path / "a.json", file_format_type="json", encoding="GBK")
    (tmp_path / "a.xml").write_bytes(b"<a>\n<row><name>\xff</name></row></a>")
    with pytest.raises(RowError, match=r"a\.xml, line 2"):
        of(tmp_path / "a.xml", file_format_type="xml", encoding="GBK", xml_row_tag="row")


@pytest.mark.parametrize(
    ("format", "content", "place"),
    [
        ("csv", b"1,a\n2,K\xefn\n", "line 2, column 'name': 'K.*'"),
        ("csv", b"\xff\xfe1\x00,\x00a\x00\n\x00", "line 1, column 'id': '.*'"),
        ("text", b"1,a\n2,K\xefn\n", "line 2, column 'name': 'K.*'"),
        ("json", b'{"id": 1}\n{"id": 2, "name": "K\xefn"}\n', "line 2: the line"),
    ],
)
def test_the_option_for_another_encoding_is_named(tmp_path: Path, format: str, content: bytes, place: str) -> None:
    """``'utf-8' codec can't decode byte 0xef in position 9`` was all that files of JSON got."""
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(RowError, match=rf"/a, {place} has bytes that are not valid UTF-8; set .* encoding ="):
        of(tmp_path, file_format_type=format, field_delimiter=",")


def test_so_it_is_for_headers_and_xml_and_inferred_columns(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"id,n\xe4me\n1,a\n")
    with pytest.raises(SourceError, match=r"/a: the header line has bytes .* set .* encoding ="):
        of(path, file_format_type="csv", csv_use_header_line=True)
    path.write_bytes(b'"id","n\xe4me"\n1,a\n')
    with pytest.raises(SourceError, match=r"/a: the header line has bytes .* set .* encoding ="):
        of(path, file_format_type="csv", csv_use_header_line=True)
    path.write_bytes(b"<a><row><id>1</id><name>K\xefn</name></row></a>")
    with pytest.raises(RowError, match=r"/a, line 1: invalid XML: .* set .* encoding = "):
        of(path, file_format_type="xml", xml_row_tag="row")
    path.write_bytes('{"id": 1}\n{"id": 2}\n'.encode("utf-16"))
    made = source(path, file_format_type="json")
    with pytest.raises(RowError, match=r"/a, line 1: the line has bytes .* set .* encoding = "):
        read(made)
    path.write_bytes(b'{"id": 1, "name": "K\xefn"}\n')
    with pytest.raises(SourceError, match=r"/a: line 1: the line has bytes .* encoding = .*declare schema"):
        source(path, file_format_type="json").planned_schemas()


def test_utf_16_without_a_mark_asks_for_the_order_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("1,a\n".encode("utf-16-be"))
    with pytest.raises(
        SourceError, match=r"a\.csv: the file has no byte-order mark; set encoding = UTF-16LE or UTF-16BE"
    ):
        of(tmp_path, file_format_type="csv", encoding="UTF-16")
    assert of(tmp_path, file_format_type="csv", encoding="UTF-16BE") == [{"id": 1, "name": "a"}]
