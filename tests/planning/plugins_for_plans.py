"""Plugins that exist for the tests of the planner: they have options and schemas, and move nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.config.option import DURATION_MS, ENUM, FUNCTION, INTEGER, LIST, SCHEMA, STRING, Option
from seatunnel_core.connector_api.sink import Guarantee, Sink, SinkContext, SinkWriter, WriterContext
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split

PEOPLE = TableSchema(table="people", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))


class LocalFile(Source):
    identifier = "LocalFile"
    declared = (
        Option("path", STRING, required=True, doc="The file, or a folder."),
        Option("file_format_type", ENUM("csv", "text", "json", "parquet"), required=True, doc="The format."),
        Option("schema", SCHEMA, doc="The columns."),
        Option("delay", DURATION_MS, doc="A wait.", unit="ms"),
        Option("password", STRING, doc="A secret.", secret=True),
        Option("secret.size", INTEGER, doc="A secret number.", secret=True),
    )

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        raise NotImplementedError

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        raise NotImplementedError

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        return (PEOPLE,) if self.options.is_set("schema") else None


class Stream(LocalFile):
    identifier = "Stream"
    declared = (Option("queue.size", INTEGER, default=10, doc="A size.", aliases=("queue_size",)),)  # type: ignore[assignment]
    bounded = False
    replayable = False


class Keep(Transform):
    identifier = "Keep"
    declared = (
        Option("columns", LIST(STRING), doc="Which columns stay."),
        Option("function", FUNCTION, doc="Any function."),
    )

    def output_schema(self, schema: TableSchema) -> TableSchema:
        wanted = self.options["columns"] or schema.columns.names
        for column in wanted:
            if column not in schema.columns.names:
                raise TransformError(f"there is no column {column!r}")
        return TableSchema(table=schema.table, columns=pa.schema([schema.columns.field(name) for name in wanted]))

    def apply(self, batch: Batch) -> Iterator[Batch]:
        raise NotImplementedError


class FileSink(Sink):
    identifier = "LocalFile"
    declared = (
        Option("path", STRING, required=True, doc="The folder."),
        Option("is_exactly_once", STRING, doc="Whether rows must arrive once."),
    )

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        raise NotImplementedError

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        raise NotImplementedError


class Console(FileSink):
    identifier = "Console"
    declared = ()  # type: ignore[assignment]
    guarantee = Guarantee.AT_LEAST_ONCE


class Plugins:
    """A registry of these."""

    _known: dict[str, dict[str, Any]] = {  # noqa: RUF012
        "source": {"localfile": LocalFile, "stream": Stream},
        "transform": {"keep": Keep},
        "sink": {"localfile": FileSink, "console": Console},
    }

    def source(self, identifier: str) -> Any:
        return self._find("source", identifier)

    def transform(self, identifier: str) -> Any:
        return self._find("transform", identifier)

    def sink(self, identifier: str) -> Any:
        return self._find("sink", identifier)

    def _find(self, kind: str, identifier: str) -> Any:
        found = self._known[kind].get(identifier.lower())
        if found is None:
            raise UsageError(f"there is no {kind} {identifier!r}; did you mean LocalFile?")
        return found
