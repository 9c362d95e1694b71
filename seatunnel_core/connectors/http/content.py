"""Rows in a response: JSON objects (alone, in arrays, one per line, or selected by JSONPath), or plain strings."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import RowError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.schema import named_block
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.fitted import UnreadKeys, fitted
from seatunnel_core.connectors.http import options as opt
from seatunnel_core.connectors.schema_options import (
    COLUMN_NAMES,
    MAX_NESTING,
    NESTING,
    SCHEMA_CONTRACT,
    SCHEMA_SAMPLE,
    check_sampling,
    nesting_of,
)
from seatunnel_core.rows.inference.contract import SchemaContract
from seatunnel_core.rows.inference.fitting import DiscardedRowError, Fitting
from seatunnel_core.rows.inference.shape import DEEPEST, Shape
from seatunnel_core.rows.json_document import compiled, divided, exact, found, keys_of, parsed
from seatunnel_core.rows.lax_json import lax
from seatunnel_core.rows.nesting import ROW_ID, Nesting, row_id
from seatunnel_core.rows.schema_block import described_table, table_schema
from seatunnel_core.rows.values import row_converter

BATCH_ROWS = 16_384
LEFT_OUT = object()
"""Placeholder for a skipped element of a page. It keeps the numbers of the other elements unchanged."""

CONTENT = pa.schema([("content", pa.string())])
FILE = pa.schema([("data", pa.binary()), ("relativePath", pa.string()), ("partIndex", pa.int64())])
"""Columns of the file format ``binary``, from which file sinks reassemble the files."""

_LINES = "the response has several JSON values: set enable_multi_lines = true to parse each line separately"


@frozen(kw_only=True)
class Content:
    """Format of a response and location of its rows."""

    format: str
    schema: TableSchema
    has_columns: bool
    """True if the job declares or infers columns. Otherwise the only column is ``content``."""

    sample: int | None = None
    """Number of rows used to infer columns; ``None`` if columns are declared or rows are plain strings."""

    contract: SchemaContract = field(factory=SchemaContract)
    """Handling of rows that do not match inferred columns."""

    levels: int = DEEPEST
    """Depth to which nested objects and lists in a row are inspected."""

    nesting: Nesting = field(factory=Nesting)
    """Handling of nested objects and lists. If it requires a row ID, the ID is the first column of ``schema``."""

    path: str | None
    fields: Mapping[str, str] = field(factory=dict)
    missed_is_null: bool
    multi_lines: bool

    @classmethod
    def of(cls, options: Options) -> "Content":
        """Return the content settings in the options."""
        block = named_block(options)
        try:
            declared = table_schema(block)
        except ValueError as error:
            raise UsageError(f"option 'schema': {error}") from None
        sample = options[SCHEMA_SAMPLE]
        _check_inference(options, declared)
        format = options[opt.FORMAT] or ("json" if declared or sample else "text")
        if declared is not None and format != "json":
            raise UsageError(f"option 'schema': format = {format} has fixed columns; write format = json")
        columns = FILE if format == "binary" else CONTENT
        content = cls(
            format=format,
            schema=declared or described_table(block, columns if sample is None else None),
            has_columns=declared is not None or sample is not None,
            sample=sample,
            contract=options[SCHEMA_CONTRACT],
            levels=options[MAX_NESTING],
            nesting=nesting_of(options),
            path=options[opt.CONTENT_FIELD],
            fields=options[opt.JSON_FIELD] or {},
            missed_is_null=options[opt.MISSED_IS_NULL],
            multi_lines=options[opt.MULTI_LINES],
        )
        content._check(options)
        return content.with_columns(declared.columns) if declared is not None else content

    def _check(self, options: Options) -> None:
        if self.path is not None:
            checked_path("content_field", self.path)
        for path in self.fields.values():
            checked_path("json_field", path)
        if self.fields and not self.has_columns:
            raise UsageError("option 'json_field': requires schema, with the types of its columns, or schema_sample")
        unknown = [name for name in self.fields if name not in self.schema.columns.names]
        if unknown and self.sample is None:
            raise UsageError(
                f"option 'json_field': schema has no column {unknown[0]!r}; it has "
                f"{', '.join(self.schema.columns.names)}"
            )
        asked = [o.key for o in (opt.CONTENT_FIELD, opt.MULTI_LINES, opt.PAGEING) if options[o]]
        if self.format == "binary" and asked:
            raise UsageError(
                f"option {asked[0]!r}: not supported with format = binary, which copies a file unchanged; remove it"
            )

    # -- rows -----------------------------------------------------------------------------------------------------

    def documents(self, text: str, where: str) -> list[Any]:
        """Parse the JSON values in a response: a single value, or one per line. An empty response has no values."""
        lines = _lines(text) if self.multi_lines else [text]
        read = lax if self.path is not None or self.fields else parsed  # Like SeaTunnel's JSONPath parser.
        documents = []
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    documents.append(read(line))
                except ValueError as error:
                    place = f"{where}, line {number}" if self.multi_lines else where
                    why = _LINES if str(error).startswith("Extra data") else f"the response is not JSON: {error}"
                    raise SourceError(f"{place}: {why}") from None
        return documents

    def counted(self, text: str, where: str) -> int:
        """Return the number of rows in a response if no columns are declared: elements of a JSON array, or lines."""
        if self.path is not None:
            return sum(len(self._selected(document, where)) for document in self.documents(text, where))
        try:
            documents = self.documents(text, where)
        except SourceError:
            if self.format == "json":
                raise
            return sum(bool(line.strip()) for line in _lines(text)) if self.multi_lines else 0
        return self.of_page(documents, len(documents))

    def of_page(self, documents: Sequence[Any], rows: int) -> int:
        """Return the number of rows that count for paging; a single object counts as 0."""
        if self.path is not None or self.fields or self.multi_lines:
            return rows
        return sum(len(document) for document in documents if isinstance(document, list))

    def texts(self, text: str, where: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a response if no columns are declared."""
        documents = self.documents(text, where) if self.path is not None or self.format == "json" else []
        if self.path is not None:
            selected = [self._selected(document, where) for document in documents]
            rows = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in selected]
        elif self.multi_lines:
            rows = _lines(text)
        else:
            rows = [text]
        rows = [row for row in rows if row.strip()]
        for start in range(0, len(rows), BATCH_ROWS):
            yield pa.RecordBatch.from_pydict({"content": rows[start : start + BATCH_ROWS]}, schema=CONTENT)

    def elements(self, documents: Sequence[Any], where: str) -> list[Any]:
        """Return the JSON values of the rows: values at ``content_field``, or objects built by ``json_field``."""
        some = documents if self.path is None else [self._selected(document, where) for document in documents]
        if self.fields:
            return [row for document in some for row in self._by_paths(document, where)]
        elements = [row for document in some for row in (document if isinstance(document, list) else [document])]
        named = [element for element in elements if isinstance(element, dict)]
        names = set(self.schema.columns.names)
        if self.sample is None and named and not any(names & element.keys() for element in named):
            raise SourceError(
                f"{where}: no row has any of the columns {', '.join(self.schema.columns.names)}; the first row is "
                f"{keys_of(named[0])}. Correct schema, or set content_field to the JSONPath of the rows"
            )
        return elements

    def unread(self, context: ReadContext) -> UnreadKeys | None:
        """Return a collector of undeclared keys; ``None`` if all keys are read."""
        declares = self.has_columns and self.sample is None and not self.fields
        return UnreadKeys(self.schema.columns, context) if declares else None

    def batches(
        self, elements: Sequence[Any], where: str, context: ReadContext, unread: UnreadKeys | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the elements. Rows that do not match the schema are passed to ``context.skip``."""
        columns = self.schema.columns
        identified = self.nesting.identifies and columns.names[:1] == [ROW_ID]
        convert = self._converter(columns.remove(0) if identified else columns, context)
        for start in range(0, len(elements), BATCH_ROWS):
            rows = []
            for number, element in enumerate(elements[start : start + BATCH_ROWS], start + 1):
                if element is LEFT_OUT:
                    continue
                place = f"{where}, row {number}"
                if not isinstance(element, dict):
                    context.skip(RowError(f"{place}: expected a JSON object {{…}}, found {keys_of(element)}"))
                    continue
                if unread is not None:
                    unread.see(element, lambda place=place: place)  # type: ignore[misc]
                try:
                    row = convert(element, place)
                    rows.append({ROW_ID: row_id(place, repr(element)), **row} if identified else row)
                except ValueError as error:
                    context.skip(RowError(f"{place}, {error}"))
                except DiscardedRowError as discarded:
                    context.leave_out(str(discarded), place)
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=columns)

    def _converter(self, columns: pa.Schema, context: ReadContext) -> Callable[[dict[str, Any], str], dict[str, Any]]:
        """Return a function that converts an object and its location to the values of a row."""
        if self.sample is None:
            convert = row_converter(columns)
            return lambda element, _: convert(element)
        tables = self.nesting.identifies
        fitting = Fitting(columns, self.contract, self.looked_at, child_tables=tables)
        return lambda element, place: fitted(fitting, exact(element), lambda: place, context)

    @property
    def looked_at(self) -> str:
        """Description of the sample for inferred columns, for messages."""
        return f"first {self.sample:,} rows"

    def shape(self, pages: Iterable[Sequence[Any]], *, every: bool = False) -> Shape:
        """Return the row shape inferred from the first rows of the pages, or from all rows if ``every`` is true."""
        shape, left = Shape(), sys.maxsize if every else self.sample or 0
        for page in pages:
            some = [exact(element) for element in page if isinstance(element, dict)][:left]
            shape.see(some, self.levels + 1)
            left -= len(some)
            if not left:
                break
        return shape

    def with_columns(self, columns: pa.Schema) -> "Content":
        """Return the content settings for rows with these columns."""
        lacking = [name for name in self.schema.primary_key if name not in columns.names]
        if lacking and columns.names:
            raise UsageError(
                f"option 'schema': primaryKey contains {lacking[0]!r}, but the {self.looked_at} do not contain this "
                f"field; they contain {', '.join(columns.names)}"
            )
        try:
            return evolve(self, schema=evolve(self.schema, columns=self.nesting.identified(columns)))
        except ValueError as error:
            raise UsageError(f"option 'nesting': {error}") from None

    @property
    def schemas(self) -> tuple[TableSchema, ...]:
        """Schemas of the main table and of the child tables for its list columns."""
        try:
            return self.nesting.schemas(self.schema)
        except ValueError as error:
            raise SourceError(str(error)) from None

    def _selected(self, document: Any, where: str) -> list[Any]:
        """Return the values at ``content_field``: the elements of an array, or all values that the path matches."""
        assert self.path is not None
        holder, each, _ = divided(self.path)
        values = found(self.path, document)
        if holder is None and values:
            return values[0] if isinstance(values[0], list) else [each for each in values if each is not None]
        if values or self.missed_is_null or (holder and found(holder, document) and not found(each, document)):
            return values
        raise SourceError(
            f"{where}: content_field = {self.path!r} matches nothing; the response is {keys_of(document)}. If such "
            "a response has no rows, set json_filed_missed_return_null = true"
        )

    def _by_paths(self, document: Any, where: str) -> list[dict[str, Any]]:
        """Return a row for each match of the last ``[*]`` in the paths. Other paths have the same value in all rows."""
        columns: dict[str, list[Any]] = {}
        alone: dict[str, Any] = {}
        for name, path in self.fields.items():
            holder, each, rest = divided(path)
            rows = [found(rest, element) for element in found(each, document)] if holder else [found(path, document)]
            if rows and not any(rows) and not self.missed_is_null:
                raise SourceError(
                    f"{where}: json_field {name} = {path!r} matches nothing; the response is {keys_of(document)}. "
                    "If a missing value means null, set json_filed_missed_return_null = true"
                )
            values = [values[0] if values else None for values in rows]
            if holder is None:
                alone[name] = values[0]
            else:
                columns[name] = values
        counts = {len(values) for values in columns.values()}
        if len(counts) > 1:
            each_count = ", ".join(f"{len(values)} at {self.fields[name]!r}" for name, values in columns.items())
            raise SourceError(f"{where}: the paths of json_field match different numbers of values: {each_count}")
        count = counts.pop() if counts else 1
        return [{**alone, **{name: values[row] for name, values in columns.items()}} for row in range(count)]


def _check_inference(options: Options, declared: TableSchema | None) -> None:
    check_sampling(options, declared=declared is not None, format=options[opt.FORMAT], alone=(NESTING, COLUMN_NAMES))
    if options[SCHEMA_SAMPLE] is None and declared is None:
        for option in (NESTING, COLUMN_NAMES):
            if options.is_set(option):
                raise UsageError(f"option {option.key!r}: requires columns; set schema or schema_sample")


def _lines(text: str) -> list[str]:
    """Split a string into lines; unlike ``str.splitlines``, do not split at U+2028 and similar characters."""
    return re.split(r"\r\n|\n|\r", text)


def checked_path(option: str, path: str) -> None:
    """Raise ``UsageError`` for an invalid JSONPath."""
    try:
        compiled(path)
    except ValueError as error:
        raise UsageError(f"option {option!r}: {error}") from None
