"""Text output of a sink: date and time formats, and encodings other than UTF-8."""

import codecs
import datetime as dt
import re
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connectors.file.formats.delimited.dialect import SINGLE
from seatunnel_core.rows.date_format import strptime_format

_ZERO = "\x01"
"""Marker that is put before a number so that its leading zero can be removed."""


@frozen(kw_only=True)
class Form:
    """A date or timestamp format."""

    whole: str
    digits: int
    """Number of fractional-second digits at the end."""

    @classmethod
    @cache
    def of(cls, java: str) -> "Form":
        """Parse a Java date format; raise ``SourceError`` if it is invalid."""
        found = re.fullmatch(r"(.*ss)\.(S{1,9})", java)
        whole, fraction = found.groups() if found else (java, "")
        return cls(
            whole=strptime_format(SINGLE.sub(rf"{_ZERO}\g<0>\g<0>", whole)),
            digits=len(fraction),
        )

    def column(self, values: pa.Array) -> pa.Array:
        """Format dates or timestamps as strings, truncated after the last digit of the format."""
        if pa.types.is_timestamp(values.type):
            unit, step = ("us", "microsecond") if self.digits else ("s", "second")
            values = pc.floor_temporal(values, unit=step).cast(pa.timestamp(unit, values.type.tz and "UTC"))
        texts = pc.strftime(values, format=self.whole)
        if self.digits > 6:
            texts = pc.binary_join_element_wise(texts, pa.scalar("0" * (self.digits - 6)), "")
        elif 0 < self.digits < 6:
            texts = pc.utf8_slice_codeunits(texts, 0, self.digits - 6)
        return pc.replace_substring_regex(texts, pattern=f"{_ZERO}0?", replacement="") if _ZERO in self.whole else texts

    def value(self, moment: dt.date) -> str:
        """Format one date or timestamp as a string."""
        texts = self.column(pa.array([moment], pa.timestamp("us") if isinstance(moment, dt.datetime) else pa.date32()))
        return str(texts[0].as_py())


@frozen(kw_only=True)
class Forms:
    """Date and time formats, which are Java patterns; ``None`` for the default of the file format."""

    date_format: str | None = None
    datetime_format: str | None = None
    time_format: str | None = None

    def check(self) -> None:
        """Raise ``SourceError`` if a format is invalid."""
        for form in (self.date_format, self.datetime_format):
            Form.of(form or "")

    def apply(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Convert dates and times to strings where a format is set."""
        for place, column in enumerate(rows.schema):
            text = self._text(rows.column(place))
            if text is not None:
                rows = rows.set_column(place, pa.field(column.name, pa.string()), text)
        return rows

    def _text(self, values: pa.Array) -> pa.Array | None:
        kind = values.type
        if pa.types.is_date(kind) and self.date_format:
            return Form.of(self.date_format).column(values)
        if pa.types.is_timestamp(kind) and self.datetime_format:
            return Form.of(self.datetime_format).column(values)
        if pa.types.is_time(kind) and self.time_format:
            return pc.utf8_slice_codeunits(values.cast(pa.string()), 0, len(self.time_format))
        return None


class Encoded:
    """File object for Arrow that accepts UTF-8 and writes another encoding.

    ``write`` may raise ``UnicodeEncodeError``. The class does not derive from Python's file classes, because their
    destructor would complete an abandoned file.
    """

    def __init__(self, stream: pa.NativeFile, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._encoder = codecs.getincrementalencoder(encoding)()
        self.closed = False

    def write(self, data: bytes) -> int:
        """Re-encode UTF-8 bytes, write them, and return the number of bytes consumed."""
        self._stream.write(self._encoder.encode(self._decoder.decode(data)))
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Write the end of the encoded text, and close the stream."""
        if not self.closed:
            self.closed = True
            self._stream.write(self._encoder.encode("", True))
            self._stream.close()


def require_encodable(rows: pa.RecordBatch, encoding: str) -> None:
    """Raise ``RowError`` unless the encoding can represent all values."""
    for name, values in zip(rows.schema.names, rows.columns, strict=True):
        for value in values.to_pylist():
            try:
                str(value).encode(encoding)
            except UnicodeEncodeError:
                problem = f"{str(value)[:60]!r} cannot be written in the encoding {encoding}; set encoding = UTF-8"
                raise RowError(f"column {name!r}: {problem}", column=name) from None
