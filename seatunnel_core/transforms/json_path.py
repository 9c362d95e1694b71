"""The transform ``JsonPath``: extracts values from JSON into new columns, using paths.

It processes rows as Python objects. The paths are those of the package ``python-jsonpath`` (RFC 9535).
"""

import base64
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import TransformError, UsageError
from seatunnel_core.connector_api.option import BLOCK, ENUM, LIST, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.findings import Findings
from seatunnel_core.rows.columns import check_known, put, with_outputs, without_bad
from seatunnel_core.rows.json_document import Number, compiled, found, is_single
from seatunnel_core.rows.lax_json import lax
from seatunnel_core.rows.types import arrow_type, is_text, type_name
from seatunnel_core.rows.values import Converter, converter

_KEYS = ("src_field", "path", "dest_field", "dest_type", "column_error_handle_way")
COLUMNS = Option(
    "columns",
    LIST(BLOCK(dict.fromkeys(_KEYS))),
    required=True,
    doc="Columns to extract: a list of { src_field, path, dest_field, dest_type = string, column_error_handle_way }. "
    "path, dest_field and dest_type may have several values, as lists or separated by semicolons.",
)
WAY = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc=(
        "Handling of a value that is not JSON, has nothing at the path or has a different type: fail the pipeline, or "
        "skip the row. For a single column, column_error_handle_way overrides this option: FAIL, SKIP (sets the column "
        "to null) or SKIP_ROW."
    ),
)

_WAYS = ("FAIL", "SKIP", "SKIP_ROW")
_LONGEST = 80
_NO_ROW = object()


@frozen(kw_only=True)
class _Wanted:
    """A value to extract."""

    source: str
    path: str
    output: pa.Field
    way: str
    """Error handling: ``FAIL``, ``SKIP`` or ``SKIP_ROW``."""


class JsonPath(Transform):
    """Appends the new columns in the order of ``columns``. A new column replaces an existing one with the same name."""

    identifier: ClassVar[str] = "JsonPath"
    declared = (COLUMNS, WAY)
    example = 'columns = [ { src_field = name, path = "$.first", dest_field = first_name } ]'
    task_modules: ClassVar[tuple[str, ...]] = ("jsonpath",)

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        way = {"FAIL": "FAIL", "SKIP": "SKIP_ROW"}[options[WAY]]
        self._wanted: list[_Wanted] = []
        findings = Findings()
        for entry in options[COLUMNS]:
            with findings.part():
                self._wanted += _entry(entry, way, findings)
        findings.raise_all()
        names = [wanted.output.name for wanted in self._wanted]
        if not names or len(set(names)) < len(names):
            raise UsageError(f"option 'columns' {'contains a dest_field twice' if names else 'is empty'}")
        self._outputs = [wanted.output for wanted in self._wanted]

    def output_schema(self, schema: TableSchema) -> TableSchema:
        sources = dict.fromkeys(wanted.source for wanted in self._wanted)
        check_known("JsonPath", sources, schema)
        for name in sources:
            kind = schema.columns.field(name).type
            if not (is_text(kind) or pa.types.is_nested(kind) or pa.types.is_binary(kind)):
                raise TransformError(
                    f"JsonPath: the column {name} of the table {schema.table} is {type_name(kind)}, but must be a "
                    "string, bytes, an array, a map or a row"
                )
        return with_outputs(schema, self._outputs)

    def apply(self, batch: Batch) -> Iterator[Batch]:
        sources = {wanted.source: batch.rows.column(wanted.source) for wanted in self._wanted}
        documents = {name: _documents(values) for name, values in sources.items()}
        wanted = [(each, converter(each.output.type)) for each in self._wanted]
        columns: list[list[Any]] = [[] for _ in self._wanted]
        complete = []
        for row in range(batch.rows.num_rows):
            values = [self._value(each, convert, documents[each.source][row], batch.table) for each, convert in wanted]
            complete.append(all(value is not _NO_ROW for value in values))
            if complete[-1]:
                for column, value in zip(columns, values, strict=True):
                    column.append(value)
        if not all(complete):
            batch = without_bad(batch, pa.array(complete, pa.bool_()))
        arrays = [pa.array(column, output.type) for column, output in zip(columns, self._outputs, strict=True)]
        yield put(batch, self._outputs, arrays)

    def _value(self, wanted: _Wanted, convert: Converter, document: Any, table: str) -> Any:
        if document is None:
            return None
        try:
            if isinstance(document, ValueError):
                raise document
            return convert(_at(wanted.path, document))
        except ValueError as error:
            if wanted.way == "SKIP":
                return None
            if wanted.way == "SKIP_ROW":
                return _NO_ROW
            raise TransformError(
                f"JsonPath: table {table}, column {wanted.source}, path {wanted.path}, for {wanted.output.name}: "
                f"{error}. With row_error_handle_way = SKIP such rows are skipped"
            ) from None


def _entry(entry: Mapping[str, Any], way: str, findings: Findings) -> Iterator[_Wanted]:
    missing = [key for key in _KEYS[:3] if not _is_written(entry.get(key), key != "src_field")]
    if missing:
        raise UsageError(f"option 'columns': an entry needs {missing[0]} as a string")
    own = str(entry.get("column_error_handle_way") or way).upper()
    if own not in _WAYS:
        raise UsageError(f"option 'columns': column_error_handle_way must be one of {', '.join(_WAYS)}, found {own}")
    outputs = _several(entry["dest_field"])
    several = len(outputs) > 1
    paths = _several(entry["path"]) if several or isinstance(entry["path"], list) else [entry["path"].strip()]
    written = entry.get("dest_type")
    types: Sequence[Any] = [written or "string"]
    if several or isinstance(written, list):
        types = _several(written or "")
    if not len(outputs) == len(paths) == len(types):
        raise UsageError(
            f"option 'columns': {len(outputs)} names in dest_field require as many values in path and dest_type, found "
            f"{len(paths)} and {len(types) if written else 0}"
        )
    for name, path, kind in zip(outputs, paths, types, strict=True):
        with findings.part():
            _check_path(path)
        output = pa.field(name, pa.string())
        with findings.part(f"option 'columns', dest_type of {name}: "):
            output = pa.field(name, arrow_type(kind.strip() if isinstance(kind, str) else kind))
        yield _Wanted(source=entry["src_field"].strip(), path=path, output=output, way=own)


def _is_written(value: Any, may_be_list: bool) -> bool:
    texts = value if may_be_list and isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)


def _several(written: Any) -> list[Any]:
    """Return the elements of a list or of a semicolon-separated string."""
    parts = written.split(";") if isinstance(written, str) else written if isinstance(written, list) else [written]
    return [part.strip() if isinstance(part, str) else part for part in parts]


def _check_path(path: str) -> None:
    try:
        compiled(path)
    except ValueError as error:
        raise UsageError(f"option 'columns': {error}") from None


def _at(path: str, document: Any) -> Any:
    """Return the value at a path; if the path may select several values, return a list."""
    values = found(path, document)
    if not is_single(path):
        return values
    if not values:
        raise ValueError(f"the path selects nothing in {_shown(document)}")
    return values[0]


def _documents(values: pa.Array) -> Sequence[Any]:
    """Return the documents to search, with an error in place of each string that is not JSON."""
    if pa.types.is_nested(values.type):
        return [_as_json(value, values.type) for value in values.to_pylist()]
    return [None if value is None else _parsed(value) for value in values.to_pylist()]


def _parsed(text: str | bytes) -> Any:
    try:
        return lax(text)
    except ValueError as error:
        return ValueError(f"{_shown(text)} is not JSON: {error}")


def _as_json(value: Any, kind: pa.DataType) -> Any:
    """Return a value as JSON; a row becomes an array of its fields, as in SeaTunnel."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return [_as_json(value[part.name], part.type) for part in kind]
    if pa.types.is_map(kind):
        return {str(key): _as_json(each, kind.item_type) for key, each in value}
    if pa.types.is_nested(kind):
        return [_as_json(each, kind.value_type) for each in value]
    if isinstance(value, Decimal):
        return Number(str(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
