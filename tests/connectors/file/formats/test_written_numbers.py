"""Numbers and times as Python alone would read them: ``1_000``, digits of other scripts, a time with a zone."""

from pathlib import Path

import pytest

from seatunnel_core.connectors.testing import plan, read
from seatunnel_core.errors import RowError
from tests.connectors.file.local_files import sheet, source

WRONG = [
    *((kind, text) for kind in ("int", "bigint", "double", "float", "decimal(10, 2)") for text in ("1_0", "１２", "٣")),
    *(("time", text) for text in ("12:00Z", "12:00:00+01:00")),
]


@pytest.mark.parametrize("format", ["json", "csv", "xml", "excel"])
@pytest.mark.parametrize(("kind", "text"), WRONG)
def test_they_are_refused(tmp_path: Path, format: str, kind: str, text: str) -> None:
    """In all formats but csv they were 10, 12, 3 and 12:00, without a word."""
    path = tmp_path / "a.xlsx"
    texts = {
        "json": f'{{"v": "{text}", "w": "x"}}\n',
        "csv": f"{text},x\n",
        "xml": f"<a><RECORD><v>{text}</v></RECORD></a>",
    }
    sheet(path, [text, "x"]) if format == "excel" else path.write_text(texts[format])
    made = source(path, file_format_type=format, schema={"fields": {"v": kind, "w": "string"}}, xml_row_tag="RECORD")
    with pytest.raises(RowError, match=r"a\.xlsx.*'v'.* is not (an? |of type )"):
        read(made, plan(made))
