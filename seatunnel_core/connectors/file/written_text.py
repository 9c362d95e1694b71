"""How a sink writes texts: the forms of dates and times, and encodings other than UTF-8."""

import codecs
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from seatunnel_core.connectors.file.dialect import strptime_format


@frozen(kw_only=True)
class Forms:
    """How dates and times are written, in Java's letters; ``None`` leaves them to the format."""

    date_format: str | None = None
    datetime_format: str | None = None
    time_format: str | None = None

    def check(self) -> None:
        """Raise ``SourceError`` for a form that is not understood."""
        for form in (self.date_format, self.datetime_format):
            strptime_format(form or "")

    def apply(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with a text in the place of each date and time that has a form."""
        for place, column in enumerate(rows.schema):
            text = self._text(rows.column(place))
            if text is not None:
                rows = rows.set_column(place, pa.field(column.name, pa.string()), text)
        return rows

    def _text(self, values: pa.Array) -> pa.Array | None:
        kind = values.type
        if pa.types.is_date(kind) and self.date_format:
            return pc.strftime(values, format=strptime_format(self.date_format))
        if pa.types.is_timestamp(kind) and self.datetime_format:
            seconds = pc.floor_temporal(values, unit="second").cast(pa.timestamp("s", kind.tz and "UTC"))
            return pc.strftime(seconds, format=strptime_format(self.datetime_format))
        if pa.types.is_time(kind) and self.time_format:
            return pc.utf8_slice_codeunits(values.cast(pa.string()), 0, len(self.time_format))
        return None


class Encoded:
    """A file for Arrow that takes UTF-8 and hands on another encoding. Raises ``UnicodeEncodeError``.

    No file object of Python, which would write the end of a file that is given up.
    """

    def __init__(self, stream: pa.NativeFile, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._encoder = codecs.getincrementalencoder(encoding)()
        self.closed = False

    def write(self, data: bytes) -> int:
        self._stream.write(self._encoder.encode(self._decoder.decode(data)))
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._stream.write(self._encoder.encode("", True))
            self._stream.close()


def unwritable(rows: pa.RecordBatch, encoding: str) -> str:
    """Which value of some rows the encoding has no signs for, for a person."""
    found: Mapping[str, pa.Array] = dict(zip(rows.schema.names, rows.columns, strict=True))
    for name, values in found.items():
        for value in values.to_pylist():
            try:
                str(value).encode(encoding)
            except UnicodeEncodeError:
                return f"column {name!r}: {str(value)[:60]!r} cannot be written in the encoding {encoding}"
    return f"a name of a column cannot be written in the encoding {encoding}"
