"""The source ``Http``: rows from the responses of a service, page by page.

A job requests each page only once, in a task, because a request may cost money or have side effects. ``--check``
requests the first page if the method is GET, to detect wrong hosts, paths, tokens, certificates and JSONPaths.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import PurePosixPath
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.increments import Increment, OptionIncrements
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.connector_api.values import Cursor, Split, Window
from seatunnel_core.connectors.fitted import UnreadKeys
from seatunnel_core.connectors.http import options as opt
from seatunnel_core.connectors.http.client import MODULES, Answer, Client
from seatunnel_core.connectors.http.connection import Connection
from seatunnel_core.connectors.http.content import FILE, Content
from seatunnel_core.connectors.http.increments import RowIncrements, key_of_increment, read_by, row_increments
from seatunnel_core.connectors.http.inferred_increments import InferredIncrements
from seatunnel_core.connectors.http.paging import GUESSED_ROWS, Paging
from seatunnel_core.connectors.http.request import Request, checked_url
from seatunnel_core.connectors.http.walking import Page, T, Walk
from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.schema_text import schema_from_text, schema_to_text

_BOTH = (
    "the params of a POST request without a body are sent both in the URL, as in newer SeaTunnel versions, and as "
    "a form, as in 2.3.8. Set keep_params_as_form = true to send only the form, or false to use only the URL"
)
_PAGES_KEEP = (
    "Exception: rows that move between pages during the read may be missed or repeated. Request a stable order, "
    "for example by the incremental column"
)
_log = logging.getLogger(__name__)

_ROW_BYTES = 200
"""Estimated size of a row in bytes. It only affects how splits are grouped into work units."""


class HttpSource(Source, OptionIncrements[RowIncrements | InferredIncrements]):
    """Reads pages in parallel if their number is known; otherwise, in one split, which is retried as a whole.

    A streaming job repeats all requests periodically.
    """

    identifier: ClassVar[str] = "Http"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.with_tables(opt.SOURCE_OPTIONS)
    task_modules: tuple[str, ...] = (*MODULES, "jsonpath")
    waits = True
    credentials: ClassVar[str] = "headers and params"
    """Options that contain the credentials, for messages."""

    example = """
        url = "https://api.example.org/people"
        format = json
        content_field = "$.data[*]"
        schema { fields { id = bigint, name = string } }
        pageing { page_field = page, batch_size = 100 }
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._content = Content.of(options)
        self._connection = Connection.of(options, hidden=secrets_of(options), credentials=self.credentials)
        self._paging = Paging.of(options)
        request = self._written()
        if options[opt.AS_FORM] and request.method != "POST":
            raise UsageError("option 'keep_params_as_form': requires method = POST")
        if options[opt.AS_FORM] and request.body is not None:
            raise UsageError(
                "option 'body': keep_params_as_form = true sends params as the body; remove one of the two"
            )
        if request.as_both:
            self.remarks = (_BOTH,)
        if self._paging is not None:
            self._paging.check(request)
        increment: Increment | None = options.get(opt.INCREMENTAL.key)
        self._increments = None if increment is None else self._read_by(increment, request)
        self._looked: Shape | None = None
        """Shape inferred from all rows when this process planned the window."""

        self._window: Window | None = None
        self._asked_from: str | None = None
        says = options.is_set(opt.REPLAYABLE)
        self.replayable = bool(options[opt.REPLAYABLE]) if says else increment is not None
        if increment is not None and self.replayable:
            self.caveat = _PAGES_KEEP

    def _read_by(self, increment: Increment, request: Request) -> RowIncrements | InferredIncrements:
        content = self._content
        if content.sample is None:
            return row_increments(increment, content, self._paging, request)
        key = key_of_increment(increment, content, self._paging)
        reads = read_by(increment, content, request, key)
        return InferredIncrements(increment=increment, key=key, shown=request.shown, reads=reads, levels=content.levels)

    def _written(self) -> Request:
        return Request(
            method=self.options[opt.METHOD],
            url=checked_url(self.options[opt.URL]),
            headers=self.options[opt.HEADERS] or {},
            params=self.options[opt.PARAMS] or {},
            body=self.options[opt.BODY],
            as_form=bool(self.options[opt.AS_FORM]),
            as_both=in_both_places(self.options),
        )

    def identity(self, client: Client) -> Mapping[str, str]:
        """Return headers with credentials, in addition to the job's headers. Services override this to log in."""
        return {}

    # -- planning -------------------------------------------------------------------------------------------------

    def run_in(self, *, streaming: bool) -> None:
        self.bounded = not streaming
        if streaming and self._content.sample is not None:
            raise UsageError(
                "option 'schema_sample': a streaming job repeats its requests, and requires declared "
                "columns: schema { fields { id = bigint } }; or set job.mode = BATCH"
            )
        if streaming and self._content.nesting.identifies:
            raise UsageError(
                "option 'nesting': a streaming job reads the same rows repeatedly, with the same ids; set "
                "nesting = columns, or job.mode = BATCH"
            )
        if streaming and self._increments is not None:
            raise UsageError(
                "option 'incremental': a streaming job reads everything repeatedly; set job.mode = BATCH, "
                "and run the job as often as needed"
            )

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        seen = self._look_at_first_page() if self.options[opt.METHOD] == "GET" else []
        if self._content.sample is None:
            return self._content.schemas
        columns = self._content.shape([seen]).columns()
        return self._content.with_columns(columns).schemas if columns.names else None

    def planned_reading(self) -> Sequence[str]:
        if self._content.sample is None:
            return ()
        return (f"the columns are inferred from the {self._content.looked_at}; --check inspected only the first page",)

    def _look_at_first_page(self) -> list[Any]:
        """Return the elements of the first page; empty if the page has no columns."""
        with self._client() as client:
            request = self._first(client)
            if self._content.format == "binary":
                with closing(client.pieces(request, self.options[opt.CHUNK_SIZE])) as pieces:
                    next(pieces)
            elif self._content.has_columns:
                documents = self._content.documents(client.send(request).decoded(request.shown), request.shown)
                return self._content.elements(documents, request.shown)
            else:
                self._content.counted(client.send(request).decoded(request.shown), request.shown)
        return []

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        is_known = self._looked is not None or (self._window is not None and self._window.upto is None)
        return ({},) if self._content.sample is not None and not is_known else ()

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        bodies = self._bodies(planning)
        every = {"first": bodies[0]["first"], "last": bodies[-1]["last"]}
        with self._client() as client:
            pages = self._pages(client, every, self._elements)
            return {"shape": self._content.shape(pages, every=self._increments is not None).body()}

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        if self._window is not None and self._window.upto is None:
            return Enumeration(schemas=() if self._content.sample is not None else self._content.schemas, splits=())
        polls: Sequence[DiscoveredObject] = [{}] if self.bounded else inspected
        content, columns = self._content, {}
        if content.sample is not None:
            found = (self._looked or Shape.of(stored.below(inspected[0], "shape"))).columns()
            content, columns = content.with_columns(found), {"columns": schema_to_text(found)}
            if not found.names:
                _log.warning("no fields found in the rows of %s, so no rows are read", self._written().shown)
                return Enumeration(schemas=(), splits=())
        bodies = [{**poll, **body, **columns} for poll in polls for body in self._bodies(planning)]
        splits = [self._split(index, body) for index, body in enumerate(bodies)]
        return Enumeration(schemas=content.schemas, splits=tuple(splits))

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        poll = stored.number(cursor, "polls") + 1 if cursor else 1
        return PollResult(items=({"poll": poll},), cursor={"polls": poll}, again_ms=self.options[opt.POLL])

    def _bodies(self, planning: PlanningContext) -> list[dict[str, Any]]:
        if self._paging is None:
            return [{"first": 0, "last": 0}]
        return [{"first": first, "last": last} for first, last in self._paging.ranges(planning)]

    def _split(self, index: int, body: Mapping[str, Any]) -> Split:
        pages = 1 if body["last"] is None else body["last"] - body["first"] + 1
        rows = pages * ((self._paging and self._paging.rows) or GUESSED_ROWS)
        return Split(index=index, rows=rows, weight_bytes=rows * _ROW_BYTES, body=body)

    # -- increments -----------------------------------------------------------------------------------------------

    @property
    def increment_key(self) -> tuple[str, ...]:
        return () if self._increments is None else self._increments.key

    def window(self, after: Cursor | None) -> Window:
        increments = self._asked_increments()
        self._asked_from = increments.asked_from(after)
        context = _Looking(fails=self.options[opt.BAD_ROWS] != "SKIP")

        def page(answer: Answer, where: str) -> tuple[int, Iterator[pa.RecordBatch]]:
            return self._page(self._content, answer, where, context, set())

        (body,) = self._bodies(PlanningContext(parallelism=1))
        with self._client() as client:
            if isinstance(increments, InferredIncrements):
                window, self._looked = increments.window(self._pages(client, body, self._elements), after)
                return window
            return increments.window(self._pages(client, body, page), after)

    def read_window(self, window: Window) -> None:
        super().read_window(window)
        self._asked_from = self._asked_increments().asked_from(window.after)

    def _kept(self, pages: Iterator[pa.RecordBatch], context: ReadContext) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the window; all rows if there is no window."""
        if not isinstance(self._increments, RowIncrements) or self._window is None:
            yield from pages
            return
        before = set[str]()
        for rows in pages:
            kept = self._increments.kept(rows, self._window, before, context)
            if kept.num_rows:
                yield kept

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        content = self._content
        if content.sample is not None:
            content = content.with_columns(schema_from_text(stored.text(split.body, "columns")))

        before, unread = set[str](), content.unread(context)

        def page(answer: Answer, where: str) -> tuple[int, Iterator[pa.RecordBatch]]:
            return self._page(content, answer, where, context, before, unread)

        with self._client() as client:
            if content.format == "binary":
                pages: Iterator[pa.RecordBatch] = self._file(client, self._identified(client))
            else:
                pages = self._pages(client, split.body, page, context)
            for rows in self._kept(pages, context):
                yield from content.nesting.batches(Batch(table=content.schema.table, rows=rows))
        if unread is not None:
            unread.note_others()

    def _pages(
        self, client: Client, body: Mapping[str, Any], page: "Page[T]", context: ReadContext | None = None
    ) -> Iterator[T]:
        """Yield the results of ``page`` for all pages of a split."""
        request = self._identified(client)
        if self._paging is None:
            yield from page(client.send(request), request.shown)[1]
            return
        walk = Walk(client=client, content=self._content, paging=self._paging, request=request, context=context)
        if self._paging.by_cursor:
            yield from walk.by_cursor(page)
        else:
            last = stored.member(body, "last")
            most = None if last is None else stored.number(body, "last")
            yield from walk.by_number(page, stored.number(body, "first"), most)

    def _page(
        self,
        content: Content,
        answer: Answer,
        where: str,
        context: ReadContext,
        before: set[str],
        unread: UnreadKeys | None = None,
    ) -> tuple[int, Iterator[pa.RecordBatch]]:
        """Return the number of rows in a response, including invalid ones, and the valid rows."""
        if not content.has_columns:
            text = answer.decoded(where)
            return content.counted(text, where), content.texts(text, where)
        count, found = self._elements(answer, where)
        increments, window = self._increments, self._window
        if isinstance(increments, InferredIncrements) and window is not None:
            found = (increments.kept(elements, window, before, context) for elements in found)
        return count, (rows for elements in found for rows in content.batches(elements, where, context, unread))

    def _elements(self, answer: Answer, where: str) -> tuple[int, Iterator[list[Any]]]:
        """Return the number of rows in a response, and their JSON values."""
        documents = self._content.documents(answer.decoded(where), where)
        elements = self._content.elements(documents, where)
        return self._content.of_page(documents, len(elements)), iter((elements,))

    def _file(self, client: Client, request: Request) -> Iterator[pa.RecordBatch]:
        for number, (headers, data) in enumerate(client.pieces(request, self.options[opt.CHUNK_SIZE])):
            row = {"data": data, "relativePath": _file_name(request, headers), "partIndex": number}
            yield pa.RecordBatch.from_pylist([row], schema=FILE)

    def _client(self) -> Client:
        return Client(self._connection, SourceError)

    def _identified(self, client: Client) -> Request:
        request = self._written()
        increment = self.increment
        if increment is not None and increment.param is not None:
            request = request.with_key(increment.param, self._asked_from)
        return evolve(request, headers={**self.identity(client), **request.headers})

    def _first(self, client: Client) -> Request:
        request, paging = self._identified(client), self._paging
        return request if paging is None else paging.request(request, None if paging.by_cursor else str(paging.start))

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [self._described(split.body) for split in splits]

    def _described(self, body: Mapping[str, Any]) -> str:
        shown = self._written().shown
        if self._paging is None:
            return f"the response of {shown}"
        if stored.member(body, "last") is None:
            return f"all pages of {shown}"
        return f"pages {stored.number(body, 'first')} to {stored.number(body, 'last')} of {shown}"


class _Looking(ReadContext):
    """Context for planning an increment. It ignores invalid rows, which are reported when the increment is read."""

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails

    def skip(self, error: Exception, rows: int = 1) -> None:
        if self._fails:
            raise error

    def note(self, what: str, example: str, rows: int = 1) -> None:
        """Do nothing."""


def in_both_places(options: Options) -> bool:
    """Return True if a POST sends its parameters both in the URL and as a form. SeaTunnel versions differ here."""
    written = options[opt.METHOD] == "POST" and options[opt.PARAMS] and options[opt.BODY] is None
    return bool(written) and not options.is_set(opt.AS_FORM)


def secrets_of(options: Options) -> tuple[str, ...]:
    """Return the values of all secret options, as strings."""
    values = [options[option] for option in options.declared if option.secret]
    texts = [each for value in values for each in (value.values() if isinstance(value, dict) else [value])]
    return tuple(str(text) for text in texts if text)


def _file_name(request: Request, headers: Mapping[str, str]) -> str:
    """Return the file name from the header ``Content-Disposition`` or from the URL. It is never a path."""
    named = re.search(r"filename\*?=(?:UTF-8'')?\"?([^\";]+)", headers.get("Content-Disposition", ""), re.IGNORECASE)
    written = unquote(named[1]) if named else unquote(urlsplit(request.url).path)
    name = PurePosixPath(written.replace("\\", "/")).name
    return name if name not in ("", ".", "..") else "file"
