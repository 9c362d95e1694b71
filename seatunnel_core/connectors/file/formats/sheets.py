"""Reader of ``.xlsx`` and ``.xls`` sheets. In string columns, numbers and dates are returned as displayed."""

import datetime as dt
import io
import re
import warnings
from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO

from seatunnel_core.connectors.file.formats.shown_cells import shown

_OLDER = b"\xd0\xcf\x11\xe0"
"""First bytes of ``.xls`` files."""

_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_LASTS = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
"""Pattern of number formats that display a duration."""


Sheet = tuple[str, Iterator[Sequence[Any]]]
"""Name of a sheet, and its rows."""


def opened_sheet(content: BinaryIO, wanted: str | None, texts: Container[int]) -> AbstractContextManager[Sheet]:
    """Open the sheet named ``wanted`` in a file of either format, or the first sheet if ``wanted`` is ``None``.

    Numbers in the columns with indexes in ``texts`` are returned as displayed. The libraries raise arbitrary errors for
    damaged files.
    """
    older = content.read(len(_OLDER)) == _OLDER
    content.seek(0)
    return (_xls if older else _xlsx)(content, wanted, texts)


class NoSheetError(Exception):
    """The sheet does not exist; the message contains its name and lists the existing sheets."""


def _chosen(name: str | None, names: Sequence[str]) -> str:
    if name is not None and name not in names:
        raise NoSheetError(f"{name!r} (sheet_name); it has {', '.join(names)}")
    return names[0] if name is None else name


@contextmanager
def _xlsx(content: BinaryIO, wanted: str | None, texts: Container[int]) -> Iterator[Sheet]:
    import openpyxl

    with warnings.catch_warnings(action="ignore"):  # Ignored parts: filters, validations, pictures.
        book = openpyxl.load_workbook(content, read_only=True, data_only=True, keep_links=False)
    try:
        name = _chosen(wanted, [each.title for each in book.worksheets])
        sheet = book[name]
        sheet.reset_dimensions()  # The size given in the file may be wrong.
        yield name, ([_shown(cell, at in texts) for at, cell in enumerate(row)] for row in sheet.iter_rows())
    finally:
        book.close()


def _shown(cell: Any, as_text: bool) -> Any:
    """Return the value of an openpyxl cell; the displayed string if ``as_text`` is true."""
    value = cell.value
    if not as_text or value is None or isinstance(value, str | bool):
        return _unescaped(value)
    return _as_text(value, cell.number_format)


def _as_text(value: Any, code: str) -> Any:
    text = shown(value, code)
    return value if text is None else text


def _unescaped(cell: Any) -> Any:
    """Decode escapes such as ``_x000D_`` in a cell, which openpyxl does not decode."""
    if not isinstance(cell, str) or "_x" not in cell:
        return cell
    found = _ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), cell)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@contextmanager
def _xls(content: BinaryIO, wanted: str | None, texts: Container[int]) -> Iterator[Sheet]:
    """Open an ``.xls`` file, and yield the sheet's name and its rows."""
    import xlrd

    file = {"file_contents": content.read(), "formatting_info": True}
    with xlrd.open_workbook(**file, on_demand=True, logfile=io.StringIO()) as book:
        name = _chosen(wanted, book.sheet_names())
        sheet = book.sheet_by_name(name)
        rows = (sheet.row(number) for number in range(sheet.nrows))
        yield name, ([_older_cell(cell, book, at in texts) for at, cell in enumerate(row)] for row in rows)


def _older_cell(cell: Any, book: Any, as_text: bool) -> Any:
    import xlrd

    if cell.ctype in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
        return None
    code = book.format_map[book.xf_list[cell.xf_index].format_key].format_str
    if cell.ctype == xlrd.XL_CELL_DATE:
        value = _of_days(cell.value, book.datemode, lasts=bool(_LASTS.search(code)))
        return _as_text(value, code) if as_text else value
    if cell.ctype == xlrd.XL_CELL_NUMBER:
        return _as_text(cell.value, code) if as_text else cell.value
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return bool(cell.value)
    return xlrd.error_text_from_code.get(cell.value) if cell.ctype == xlrd.XL_CELL_ERROR else cell.value


def _of_days(days: float, datemode: int, *, lasts: bool) -> dt.datetime | dt.date | dt.time | dt.timedelta:
    import xlrd

    if lasts:
        return dt.timedelta(milliseconds=round(days * 86_400_000))

    if 0 <= days < 1:
        return (dt.datetime.min + dt.timedelta(milliseconds=round(days * 86_400_000))).time()
    found: dt.datetime = xlrd.xldate_as_datetime(days, datemode)
    return found
