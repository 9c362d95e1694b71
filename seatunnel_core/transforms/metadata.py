"""The transform ``Metadata``: writes the metadata of a row into columns."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import TransformError, UsageError
from seatunnel_core.connector_api.option import MAP, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.findings import Findings
from seatunnel_core.rows.columns import check_new, put, with_outputs
from seatunnel_core.transforms.row_kind_extractor import SHORT, kind_texts

FIELDS = Option(
    "metadata_fields",
    MAP,
    default={},
    doc="Metadata keys and their column names: { Database = db, Table = tbl, RowKind = kind, EventTime = time, "
    "Position = position }.",
)

_LOGGED = {"EventTime": pa.int64(), "Position": pa.string()}
"""Metadata of a change, with the types of their columns."""

_KNOWN = ("Database", "Table", "RowKind", *_LOGGED)
_OF_CHANGES = ("BinlogFile", "BinlogPos", "BinlogRow", "Gtid", "SourceTimestamp", "Schema", "Collection", "Namespace")
_OF_FILES = ("FilePath", "FileSize", "FileType", "FileCreateTime", "FileUpdateTime")
_OF_SOURCES = ("Delay", "Partition", *_OF_CHANGES, *_OF_FILES)


class Metadata(Transform):
    """Appends columns of type string; EventTime is a bigint in milliseconds since 1970.

    EventTime and Position come from the log of a change data source, and are null for rows that were read from a table.
    Rows keep their kinds and tables.
    """

    identifier: ClassVar[str] = "Metadata"
    keeps_absent = True
    keeps_columns = True
    declared = (FIELDS,)
    example = "metadata_fields { Table = source_table }"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._names: dict[str, str] = dict(options[FIELDS])
        findings = Findings()
        for key in self._names:
            with findings.part("option 'metadata_fields': "):
                _refuse_unknown(key)
        findings.raise_all()
        self.needs_origins = not _LOGGED.keys().isdisjoint(self._names)
        columns = list(self._names.values())
        if len(set(columns)) < len(columns):
            raise UsageError("option 'metadata_fields': two columns have the same name")
        self._outputs = [pa.field(name, _LOGGED.get(key, pa.string())) for key, name in self._names.items()]

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_new("Metadata", self._names.values(), schema, FIELDS.key)
        return with_outputs(schema, self._outputs)

    def apply(self, batch: Batch) -> Iterator[Batch]:
        yield put(batch, self._outputs, [_values(key, batch) for key in self._names])


def _values(key: str, batch: Batch) -> pa.Array:
    if key in _LOGGED:
        if batch.origins is None:
            raise TransformError(
                f"Metadata: rows of {batch.table} have no {key}: only change data sources provide it. Place "
                "Metadata after such a source, before transforms that compute new rows, or remove this transform"
            )
        return batch.origins.times if key == "EventTime" else batch.origins.positions()
    if key == "RowKind":
        return kind_texts(batch, SHORT)
    *database, table = batch.table.split(".")
    text = table if key == "Table" else next(iter(database), None)
    return pa.repeat(pa.scalar(text, pa.string()), batch.rows.num_rows)


def _refuse_unknown(key: str) -> None:
    if key in _OF_SOURCES:
        raise UsageError(f"no source of this version provides {key}; remove it")
    if key not in _KNOWN:
        raise UsageError(f"{key} is unknown; supported (case-sensitive): {', '.join(_KNOWN)}")
