"""Streaming writer of a single sheet as an ``.xlsx`` file, with inline strings and only the parts that readers need."""

import datetime as dt
import re
import zipfile
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa

DATE, TIMESTAMP, TIMESTAMP_MS, TIME, TIME_MS = range(1, 6)
"""Display formats of numbers, as indexes of ``_SHOWN`` in the styles."""

_SHOWN = ("yyyy\\-mm\\-dd", "yyyy\\-mm\\-dd hh:mm:ss", "yyyy\\-mm\\-dd hh:mm:ss.000", "hh:mm:ss", "hh:mm:ss.000")
_FIRST = 164
"""Number of the first custom format."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_DAY_ZERO = dt.datetime(1899, 12, 30)
_DAY_MS = 86_400_000

_HIDDEN = re.compile("_x(?=[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f\ufffe\uffff]")
"""Pattern of characters that XML cannot represent, and of strings that would be read as an escaped character."""


class SheetFile:
    """An ``.xlsx`` file with one sheet. Rows are added until ``close``."""

    def __init__(self, stream: pa.NativeFile, sheet_name: str) -> None:
        self._zip = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=4)
        for path, text in _parts(sheet_name).items():
            self._zip.writestr(path, _HEAD + text)
        self._sheet = self._zip.open("xl/worksheets/sheet1.xml", "w", force_zip64=True)
        # Only ``close`` completes the file: Python would also complete an abandoned one on garbage collection.
        self._ends = (self._sheet.close, self._zip.close)
        vars(self._sheet)["close"] = vars(self._zip)["close"] = object
        self._write(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>')
        self._row = 0

    def add(self, cells: list[str]) -> None:
        """Add a row of cells created by the functions of this module; an empty string is an empty cell."""
        self._row += 1
        at = self._row
        placed = (f'<c r="{letters(place)}{at}"{cell[2:]}' for place, cell in enumerate(cells) if cell)
        self._write(f'<row r="{self._row}">{"".join(placed)}</row>')

    def close(self) -> None:
        """Complete the sheet and the archive; the stream stays open."""
        self._write("</sheetData></worksheet>")
        for end in self._ends:
            end()

    def _write(self, text: str) -> None:
        self._sheet.write(text.encode())


def number(value: float, shown: int = 0) -> str:
    """Return a cell that contains a finite number with all its digits."""
    return f'<c s="{shown}"><v>{value!r}</v></c>' if shown else f"<c><v>{value!r}</v></c>"


def text(value: str) -> str:
    """Return a cell with a string."""
    escaped = escape(_HIDDEN.sub(lambda found: "_x005F_x" if len(found[0]) == 2 else f"_x{ord(found[0]):04X}_", value))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escaped}</t></is></c>'


def boolean(value: bool) -> str:
    """Return a cell with a boolean."""
    return f'<c t="b"><v>{int(value)}</v></c>'


def moment(value: dt.datetime, shown: int) -> str:
    """Return a cell with a timestamp of millisecond precision, as days since the end of 1899."""
    milliseconds = (value - _DAY_ZERO) // dt.timedelta(milliseconds=1)
    return number(milliseconds // _DAY_MS if milliseconds % _DAY_MS == 0 else milliseconds / _DAY_MS, shown)


def clock(value: dt.time, shown: int) -> str:
    """Return a cell with a time of millisecond precision, as a fraction of a day."""
    return moment(dt.datetime.combine(_DAY_ZERO, value), shown)


def letters(column: int) -> str:
    """Return the name of a column: A, B, …, Z, AA, and so on."""
    found = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        found = chr(ord("A") + rest) + found
    return found


def _parts(sheet_name: str) -> dict[str, str]:
    override = '<Override PartName="/xl/{}" ContentType="' + _TYPE + '.{}+xml"/>'
    numbered = enumerate(_SHOWN, _FIRST)
    forms = "".join(f'<numFmt numFmtId="{at}" formatCode={quoteattr(each)}/>' for at, each in numbered)
    shown = "".join(f'<xf numFmtId="{_FIRST + at}" applyNumberFormat="1" xfId="0"/>' for at in range(len(_SHOWN)))
    return {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        + override.format("workbook.xml", "sheet.main")
        + override.format("worksheets/sheet1.xml", "worksheet")
        + override.format("styles.xml", "styles")
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name={quoteattr(sheet_name)} sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts count="{len(_SHOWN)}">{forms}</numFmts>'
        '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        f'<cellXfs count="{len(_SHOWN) + 1}"><xf numFmtId="0" xfId="0"/>{shown}</cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
    }
