"""The sink ``Http``: sends a POST with a JSON object for each row, or with an array of several rows."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.capabilities import SupportsDryRun
from seatunnel_core.connector_api.errors import RowError, SinkError, UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.sink import Guarantee, Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.http import options as opt
from seatunnel_core.connectors.http.client import MODULES, Answer, Client
from seatunnel_core.connectors.http.connection import Connection
from seatunnel_core.connectors.http.request import Request, checked_url
from seatunnel_core.connectors.http.source import secrets_of
from seatunnel_core.rows.value_text import json_text


class HttpSink(Sink, SupportsDryRun):
    """Tasks send rows as they arrive, so a retry sends the rows of the failed task again."""

    identifier: ClassVar[str] = "Http"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SINK_OPTIONS
    guarantee = Guarantee.AT_LEAST_ONCE
    isolates_bad_rows = True
    weakness = "sends rows directly, so a retried task sends the rows of the failed attempt again"
    credentials: ClassVar[str] = "headers and params"
    """Options that contain the credentials, for messages."""

    task_modules: tuple[str, ...] = MODULES
    example = """
        url = "https://hooks.example.org/people"
        headers { Authorization = "Bearer the-token" }
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.connection = Connection.of(options, hidden=secrets_of(options), credentials=self.credentials)
        self.array_rows: int = self._array_rows(options)
        self.request("")

    def _array_rows(self, options: Options) -> int:
        """Return the maximum number of rows in an array; 0 to send each row as an object."""
        if options[opt.ARRAY_MODE]:
            return int(options[opt.ARRAY_ROWS])
        if options[opt.ARRAY_ROWS] > 1:
            raise UsageError("option 'batch_size': requires array_mode = true")
        return 0

    def request(self, body: str) -> Request:
        """Return a request that sends a body. Send it immediately, because some services sign the current time."""
        return Request(
            method="POST",
            url=checked_url(self.options[opt.URL]),
            headers=self.options[opt.HEADERS] or {},
            params=self.options[opt.PARAMS] or {},
            body=body,
        )

    def bodies(self, rows: pa.RecordBatch) -> Iterator[str]:
        """Yield a JSON object for each row; raise ``RowError`` if a value cannot be represented in JSON."""
        return json_objects(rows)

    def refusal(self, answer: Answer) -> tuple[str, bool] | None:
        """Return the error in a successful response, and True if a retry may succeed; ``None`` if there is no error."""
        return None

    @property
    def bound_to(self) -> Mapping[str, str]:
        return {}

    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        with Client(self.connection, SinkError) as client:
            client.reach(self.request(""))
        return ["the service responds; the credentials are checked when the first row is sent"]

    def prepare(self, context: SinkContext) -> None:
        with Client(self.connection, SinkError) as client:
            try:
                client.reach(self.request(""))
            except SinkError as error:
                raise located(f"pipeline {context.pipeline_id}, sink {self.identifier}", error) from None

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "HttpWriter":
        return HttpWriter(self)

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        """Do nothing: the tasks have sent all rows."""


class HttpWriter(SinkWriter):
    """Sends the rows of a work unit."""

    def __init__(self, sink: HttpSink) -> None:
        self._sink = sink
        self._client = Client(sink.connection, SinkError)
        self._table = ""
        self._waiting: list[str] = []
        self._rows = self._bytes = self._requests = 0

    def write(self, batch: Batch) -> None:
        if not batch.inserts_only:
            kinds = batch.kinds.unique().to_pylist() if batch.kinds is not None else []
            others = ", ".join(RowKind(kind).name for kind in kinds if kind != RowKind.INSERT)
            raise SinkError(
                f"table {batch.table}: {self._sink.identifier} accepts only inserted rows, found {others}; filter "
                "them with FilterRowKind, or convert their kinds to columns with RowKindExtractor"
            )
        bodies = list(self._sink.bodies(batch.rows))
        if batch.table != self._table:
            self._send()
            self._table = batch.table
        for body in bodies:
            self._waiting.append(body)
            if len(self._waiting) >= max(self._sink.array_rows, 1):
                self._send()

    def _send(self) -> None:
        if not self._waiting:
            return
        if self._requests:
            time.sleep(self._sink.options[opt.INTERVAL] / 1000)
        sent = self._waiting
        body = f"[{','.join(sent)}]" if self._sink.array_rows else sent[0]
        first, last = self._rows + 1, self._rows + len(sent)
        rows = f"row {first}" if first == last else f"rows {first} to {last}"
        try:
            self._ask(self._sink.request(body))
        except SinkError as error:
            raise located(f"table {self._table}, {rows} of the work unit", error) from None
        self._waiting = []
        self._rows, self._bytes, self._requests = last, self._bytes + len(body.encode()), self._requests + 1

    def _ask(self, request: Request) -> None:
        connection = self._sink.connection
        for attempt in range(connection.retries + 1):
            answer = self._client.send(request)
            refusal = self._sink.refusal(answer)
            if refusal is None:
                return
            why, passes = refusal
            if not passes or attempt == connection.retries:
                said = self._client.scrubbed(why, request)
                error = SinkError(f"{request.shown} returned an error with status {answer.status}: {said}")
                error.retryable = passes
                raise error
            time.sleep(min(connection.backoff_ms * 2**attempt, connection.backoff_max_ms) / 1000)

    def finish(self) -> Staged:
        self._send()
        self._client.close()
        return Staged(body={}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        self._client.close()


def json_objects(rows: pa.RecordBatch) -> Iterator[str]:
    """Yield each row as a JSON object."""
    names = [json.dumps(name, ensure_ascii=False) for name in rows.schema.names]
    for texts in texts_of(rows, json_text):
        yield "{" + ",".join(f"{name}:{text}" for name, text in zip(names, texts, strict=True)) + "}"


def texts_of(rows: pa.RecordBatch, text: Callable[[Any, pa.DataType], str]) -> Iterator[tuple[str, ...]]:
    """Yield the values of each row, converted by ``text``. Raise ``RowError`` if ``text`` raises ``ValueError``."""
    columns = []
    for column, values in zip(rows.schema, rows.columns, strict=True):
        try:
            columns.append([text(value, column.type) for value in values.to_pylist()])
        except ValueError as error:
            raise RowError(f"column {column.name!r}: {error}", column=column.name) from None
    return zip(*columns, strict=True)


def located(where: str, error: SinkError) -> SinkError:
    """Return the error with its message prefixed by the location."""
    found = SinkError(f"{where}: {error}")
    found.retryable = error.retryable
    return found
