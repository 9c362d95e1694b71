"""The format ``xml``: one element per row, with the values as attributes or child elements.

The parser is expat, which reads incrementally. Files that declare entities are rejected, because entities could refer
to other files or expand without limit.
"""

import base64
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa

from seatunnel_core.connector_api.errors import RowError, SinkError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.packing import modules
from seatunnel_core.connectors.file.formats.row_batches import RowBatches, Texts
from seatunnel_core.connectors.file.formats.source_format import DeclaredFormat
from seatunnel_core.connectors.file.formats.writer import FileStyle, FileWriter
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.rows.value_text import float_text, json_text
from seatunnel_core.rows.values import Converter

PIECE_BYTES = 64 << 10
LONGEST_ROW = 64 << 20

_OTHER_ENCODING = (
    ". If the file is not in its declared encoding (UTF-8 by default), set the actual encoding, for example "
    "encoding = ISO-8859-1"
)
_NIL = "xsi:nil"
_NAME = re.compile(r"[^\W\d][\w.\-·]*")
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Pattern of characters that XML cannot represent."""


class Xml(DeclaredFormat):
    """Format with one split per file. Only one row at a time is in memory."""

    names: ClassVar[str] = "the names of elements or attributes"

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self._texts = Texts.of(options)
        codec = options[opt.COMPRESS]
        self._dialect = Dialect(encoding=options[opt.ENCODING], compression=None if codec == "none" else codec)
        self._dialect.check()
        self.task_modules = modules(self._dialect.compression)
        if not options[opt.XML_ROW_TAG]:
            raise UsageError("option 'xml_row_tag': required for xml; set it to the name of the element for each row")

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        rows = ((where, _once(values, wanted, where, context)) for where, values in self._rows(file, wanted.names))
        yield from RowBatches(columns=wanted, converter=self._converter, context=context).of(rows)
        file.check()

    def _converter(self, kind: pa.DataType) -> Converter:
        """Return the converter for a type. An array is JSON or several elements; empty bytes are not null."""
        convert = self._texts.converter(kind)
        if pa.types.is_list(kind):
            return lambda found: convert([found] if isinstance(found, str) and _is_item(found) else found)
        return (lambda text: b"" if text == "" else convert(text)) if pa.types.is_binary(kind) else convert

    def _rows(self, file: OpenFile, columns: Sequence[str]) -> Iterator[tuple[str, "_Values"]]:
        path = file.version.path
        # The option takes precedence over the declaration in the file.
        encoding = "utf-8" if self.options.is_set(opt.ENCODING) else None
        in_attributes = self.options[opt.XML_ATTRIBUTES]
        rows = _Rows(self.options[opt.XML_ROW_TAG], columns, encoding, in_attributes=in_attributes)
        with self._dialect.text_stream(file) as stream:
            more = True
            while more:
                piece = bytes(stream.read(PIECE_BYTES))
                more = bool(piece)
                try:
                    rows.feed(piece, last=not more)
                except (expat.ExpatError, ValueError) as error:
                    other = "" if piece.isascii() else _OTHER_ENCODING
                    raise RowError(f"{path}, line {rows.line}: invalid XML: {error}{other}") from error
                while rows.found:
                    line, values = rows.found.popleft()
                    yield f"{path}, line {line}, element <{rows.tag}>", values


_Values = Mapping[str, str | list[str | None] | None]
"""Values of a row, keyed by name. The value of a repeated element is a list."""


def _once(values: _Values, wanted: pa.Schema, where: str, context: ReadContext) -> _Values:
    """Return the values of a row. If an element is repeated, keep only the last one, unless the column is an array."""
    found = {}
    for name, value in values.items():
        if isinstance(value, list) and name in wanted.names and not pa.types.is_list(wanted.field(name).type):
            context.note(f"contain the element <{name}> more than once; the last one is used, as in SeaTunnel", where)
            value = value[-1]
        found[name] = value
    return found


def _is_item(text: str) -> bool:
    """Return True if the text of an XML element is one item of an array rather than a whole array in JSON."""
    return bool(text.strip()) and not text.lstrip().startswith("[")


class _Rows:
    def __init__(self, tag: str, columns: Sequence[str], encoding: str | None, *, in_attributes: bool) -> None:
        self.tag = tag
        self._columns = frozenset(columns)
        self.found: deque[tuple[int, _Values]] = deque()
        self._in_attributes = in_attributes
        self._row: dict[str, str | list[str | None] | None] | None = None
        self._row_line = 0
        self._depth = 0
        """Depth below the row element: 1 in the row, 2 in one of its values."""

        self._is_null = False
        self._texts: list[str] = []
        self._length = 0
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse
        self._parser.ExternalEntityRefHandler = self._refuse

    @property
    def line(self) -> int:
        """Current line of the parser, from 1."""
        return self._parser.CurrentLineNumber

    def feed(self, piece: bytes, *, last: bool) -> None:
        """Parse another chunk; ``last`` ends the document."""
        self._parser.Parse(piece, last)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if self._row is not None:
            self._depth += 1
            if self._depth == 2:
                self._is_null = attributes.get(_NIL, "").strip() in ("true", "1")
        elif name in (self.tag, f"{name.partition(':')[0]}:{self.tag}"):
            self._row, self._row_line, self._depth, self._length = {}, self.line, 1, 0
            if self._in_attributes:
                for each, value in attributes.items():
                    if not each.startswith("xmlns:"):
                        self._add(self._row, self._column(each), value)

    def _text(self, text: str) -> None:
        if self._depth > 1:
            self._length += len(text)
            if self._length > LONGEST_ROW:
                raise ValueError(f"the row that starts on line {self._row_line} has more than {LONGEST_ROW} characters")
            self._texts.append(text)

    def _end(self, name: str) -> None:
        if self._row is None:
            return
        self._depth -= 1
        if self._depth == 0:
            self.found.append((self._row_line, self._row))
            self._row = None
        elif self._depth == 1:
            if not self._in_attributes:
                self._add(self._row, self._column(name), None if self._is_null else "".join(self._texts))
            self._texts = []

    def _column(self, name: str) -> str:
        """Return the column of an element or attribute: its name, without the prefix unless a column has the prefix."""
        return name if name in self._columns else name.rpartition(":")[2]

    @staticmethod
    def _add(row: dict[str, str | list[str | None] | None], name: str, value: str | None) -> None:
        before = row.get(name)
        if name not in row:
            row[name] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            row[name] = [before, value]

    def _refuse(self, *_: object) -> int:
        raise ValueError(
            "the file declares an entity, which is not supported, because an entity could refer to another file, "
            "or expand without limit"
        )


class XmlFileWriter(FileWriter):
    """Writer that writes each row as an element; a null becomes a missing attribute or element."""

    suffix: ClassVar[str] = ".xml"

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        self._put(f'<?xml version="1.0" encoding="{style.encoding.upper()}"?>\n<{style.root_tag}>\n')

    @classmethod
    def check(cls, style: FileStyle) -> None:
        for key, tag in (("xml_root_tag", style.root_tag), ("xml_row_tag", style.row_tag)):
            if not _NAME.fullmatch(tag):
                raise UsageError(f"option {key!r}: {tag!r} is not a valid element name; use letters, digits, _ - and .")

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        for name in columns.names:
            if not _NAME.fullmatch(name):
                raise SinkError(
                    f"column {name!r} is not a valid name of an xml element or attribute; rename it with FieldMapper"
                )

    @classmethod
    def prepared(cls, style: FileStyle, rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = [_texts(*each, style) for each in zip(rows.schema, rows.columns, strict=True)]
        tag = style.row_tag
        present = ("".join(values) for values in zip(*columns, strict=True))
        elements = [f"<{tag}{each}/>" if style.attributes else f"<{tag}>{each}</{tag}>" for each in present]
        return pa.RecordBatch.from_arrays([pa.array(elements, pa.string())], names=["element"])

    def write(self, rows: pa.RecordBatch) -> None:
        for element in rows.column(0).to_pylist():
            self._put(f"{element}\n")

    def _put(self, text: str) -> None:
        self.stream.write(text.encode())

    def close(self) -> None:
        self._put(f"</{self.style.root_tag}>\n")
        super().close()


def _texts(column: pa.Field, array: pa.Array, style: FileStyle) -> list[str]:
    found = []
    for value in array.to_pylist():
        try:
            text = "" if value is None else _text(value, column.type)
        except ValueError as error:
            raise RowError(f"column {column.name!r}: {error}", column=column.name) from None
        if bad := _HIDDEN.search(text):
            raise RowError(
                f"column {column.name!r}: {text[:60]!r} contains the character {bad[0]!a}, which XML cannot represent",
                column=column.name,
            )
        if value is None:
            found.append("")
        elif style.attributes:
            found.append(f" {column.name}={quoteattr(text)}")
        else:
            found.append(f"<{column.name}>{escape(text, {chr(13): '&#13;'})}</{column.name}>")
    return found


def _text(value: Any, kind: pa.DataType) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if pa.types.is_nested(kind):
        return json_text(value, kind)
    if pa.types.is_decimal(kind):
        return f"{value:f}"
    if pa.types.is_floating(kind):
        return float_text(value, kind)
    return value.isoformat(" ") if pa.types.is_timestamp(kind) else str(value)
