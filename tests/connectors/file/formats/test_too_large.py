"""Numbers that are too large for a declared type of floats."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.errors import RowError
from tests.connectors.file.local_files import sheet, source

FORMATS = ("json", "csv", "text", "xml", "excel")


def values(folder: Path, format: str, kind: str, value: str) -> list[Any]:
    path = folder / "a.xlsx"
    texts = {
        "json": f'{{"v": {value}, "w": "x"}}\n',
        "csv": f"{value},x\n",
        "text": f"{value.strip('[]')}\x01x\n",
        "xml": f"<a><RECORD><v>{value}</v></RECORD></a>",
    }
    sheet(path, [value, "x"]) if format == "excel" else path.write_text(texts[format])
    fields = {"v": kind, "w": "string"}
    made = source(path, file_format_type=format, schema={"fields": fields}, xml_row_tag="RECORD")
    return [row["v"] for row in read(made)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("kind", "value"),
    [("float", "1e300"), ("float", "-3.5e38"), ("double", "1e400"), ("double", "-1e400"), ("array<float>", "[1e300]")],
)
def test_they_are_refused(tmp_path: Path, format: str, kind: str, value: str) -> None:
    """Each became infinity without a word."""
    if format == "csv":
        value = value.strip("[]")
    with pytest.raises(RowError, match=r"a\.xlsx.*'v'.* is not (an? |of type )"):
        values(tmp_path, format, kind, value)


@pytest.mark.parametrize("format", FORMATS)
def test_the_largest_stay(tmp_path: Path, format: str) -> None:
    assert values(tmp_path, format, "double", "1.7976931348623157e308") == [1.7976931348623157e308]
    assert values(tmp_path, format, "float", "-3.4028234663852886e38") == [-3.4028234663852886e38]


@pytest.mark.parametrize(("format", "value"), [("json", "Infinity"), ("csv", "inf"), ("text", "-inf"), ("xml", "inf")])
def test_infinity_stays(tmp_path: Path, format: str, value: str) -> None:
    assert values(tmp_path, format, "double", value) == [float(value)]


def test_arrays_of_texts_keep_all_digits_of_decimals(tmp_path: Path) -> None:
    """They were read as doubles first."""
    (value,) = values(tmp_path, "xml", "array<decimal(38, 20)>", "[0.12345678901234567890]")
    assert str(value[0]) == "0.12345678901234567890"
