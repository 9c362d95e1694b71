"""Columns of bytes in files of text: as they are, or in base64."""

import re
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.errors import RowError
from tests.connectors.file import local_files

TYPES = {"id": "int", "raw": "bytes"}


def rows(*values: bytes | None, types: dict[str, str]) -> list[dict[str, Any]]:
    return [{"id": number, "raw": value} if "id" in types else {"raw": value} for number, value in enumerate(values)]


@pytest.mark.parametrize("format", ["csv", "text", "json", "xml", "excel"])
def test_bytes_come_back(tmp_path: Path, format: str) -> None:
    written = rows("漢".encode(), None, b"a", types=TYPES)
    local_files.write(tmp_path, TYPES, written, file_format_type=format)
    options = {"xml_row_tag": "RECORD", "skip_header_row_number": 1 if format == "excel" else 0}
    assert read(local_files.source(tmp_path, schema={"fields": TYPES}, file_format_type=format, **options)) == written


@pytest.mark.parametrize("format", ["csv", "text"])
@pytest.mark.parametrize("types", [TYPES, {"raw": "bytes"}], ids=["two columns", "one"])
def test_bytes_that_are_no_text_are_named(tmp_path: Path, format: str, types: dict[str, str]) -> None:
    written = rows(b"a", None, b"\xff\xfe" + b"x" * 100, types=types)
    message = (
        rf"sink LocalFile, column 'raw': b'\xff\xfe{'x' * 18}' is not UTF-8, but {format} files store bytes unchanged"
    )
    with pytest.raises(RowError, match=re.escape(message)):
        local_files.write(tmp_path, types, written, file_format_type=format)
