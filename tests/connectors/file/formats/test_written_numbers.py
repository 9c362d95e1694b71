"""Numbers and times as Python alone would read them: ``1_000``, digits of other scripts, a time with a zone."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connectors.file.formats.delimited import reader
from seatunnel_core.errors import RowError
from tests.connectors.file.local_files import sheet, source

WRONG = [
    *((kind, text) for kind in ("int", "bigint", "double", "float", "decimal(10, 2)") for text in ("1_0", "１２", "٣")),
    *((kind, text) for kind in ("int", "bigint") for text in ("0x10", "0X1f", "-0x1", "0x7fffffffffffffff")),
    *(("time", text) for text in ("12:00Z", "12:00:00+01:00")),
]


def values(folder: Path, format: str, kind: str, text: str) -> list[Any]:
    """Write a text into a file of a format, and return what a column of a type reads from it."""
    path = folder / "a.xlsx"
    texts = {
        "json": f'{{"v": "{text}", "w": "x"}}\n',
        "csv": f"{text},x\n",
        "text": f"{text}\x01x\n",
        "xml": f"<a><RECORD><v>{text}</v></RECORD></a>",
    }
    sheet(path, [text, "x"]) if format == "excel" else path.write_text(texts[format])
    made = source(path, file_format_type=format, schema={"fields": {"v": kind, "w": "string"}}, xml_row_tag="RECORD")
    return [row["v"] for row in read(made)]


@pytest.mark.parametrize("format", ["json", "csv", "xml", "excel"])
@pytest.mark.parametrize(("kind", "text"), WRONG)
def test_they_are_refused(tmp_path: Path, format: str, kind: str, text: str) -> None:
    """In all formats but csv they were 10, 12, 3 and 12:00, without a word."""
    with pytest.raises(RowError, match=r"a\.xlsx.*'v'.* is not (an? |of type )"):
        values(tmp_path, format, kind, text)


@pytest.mark.parametrize("format", ["json", "csv", "text", "xml", "excel"])
@pytest.mark.parametrize(("text", "number"), [("+5", 5), ("-0", 0), ("007", 7), ("-9223372036854775808", -(2**63))])
def test_signs_and_zeros_are_read_in_all_formats(tmp_path: Path, format: str, text: str, number: int) -> None:
    """``csv`` and ``text`` refused ``+5``."""
    assert values(tmp_path, format, "bigint", text) == [number]


@pytest.mark.parametrize("quote", ["", '"'])
def test_texts_with_hexadecimals_stay_beside_whole_numbers(tmp_path: Path, quote: str) -> None:
    """Only a value of a whole number is refused, wherever it is cut from the file."""
    path, rows = tmp_path / "a.csv", 3_000
    path.write_text("".join(f"{quote}0x{number:x}{quote},{number}\n" for number in range(rows)))
    made = source(path, file_format_type="csv", schema={"fields": {"v": "string", "w": "bigint"}})
    assert [(row["v"], row["w"]) for row in read(made)] == [(f"0x{n:x}", n) for n in range(rows)]


@pytest.mark.parametrize("before", range(0, 24, 3))
def test_a_hexadecimal_is_noticed_across_two_pieces(
    tmp_path: Path, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "BLOCK_BYTES", 16)
    path = tmp_path / "a.csv"
    path.write_text("1,x\n" * 3 + "1," + "y" * before + "\n0x10,x\n1,x\n")
    made = source(path, file_format_type="csv", schema={"fields": {"v": "bigint", "w": "string"}})
    with pytest.raises(RowError, match=r"line 5, column 'v': '0x10' is not a bigint"):
        read(made)
