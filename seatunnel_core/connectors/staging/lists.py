"""Sinks that stage rows as items of lists in the target itself, such as a queue or a key-value store.

The target appends to a list and publishes its items in atomic steps, and counts the published items. An interrupted
commit therefore continues after the last published item. Items are published in the order of the rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import Any, ClassVar

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.capabilities import SupportsPublishedQuery
from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.sink import Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.values import Committable

Item = tuple[str | bytes, ...]
"""Parts of the output for one row, such as a command and its arguments."""

LOST = (
    "the server lost the job's staged rows and records: it was emptied, restarted without its data or replaced by "
    "another server, or the job has ended. Restore the data and resume the job, or start a new job"
)


class Published(Enum):
    """Outcome of publishing a list."""

    NOW = auto()
    BEFORE = auto()
    """All items had already been published."""

    INCOMPLETE = auto()
    """Items are missing, so no items were published."""


class StagedLists(ABC):
    """The lists of one sink of a pipeline, in the epoch of its context.

    The name of a list is ``<committable ID>:<attempt>``, and the ID is ``<source>-<epoch>-<unit>``. Every method may
    raise a ``SinkError``. Methods that change state raise it if the target has a different epoch.
    """

    @abstractmethod
    def begin(self, prepared_in: int) -> None:
        """Record the epoch as the newest, unless the recorded epoch is below ``prepared_in`` or newer than this one."""

    @abstractmethod
    def append(self, name: str, items: Sequence[Item]) -> None:
        """Append items to a list; the first call creates it."""

    @abstractmethod
    def publish(self, name: str, total: int) -> Published:
        """Publish the unpublished items of a list of length ``total``; raise an error for an invalid item."""

    @abstractmethod
    def published(self) -> Mapping[str, int]:
        """Return the number of published items in each list, keyed by the list's name."""

    @abstractmethod
    def sweep(self, lists_below: int, records_below: int, keep: frozenset[str]) -> int:
        """Remove lists and records of older epochs, except for the IDs to keep; return the number of removed lists."""

    @abstractmethod
    def discard(self, name: str) -> None:
        """Remove a list."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all state except the lists."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the pipeline, the sink and the target, for messages."""

    def lost(self, epoch: int, known: int) -> str:
        """Return the error message for a target with a different epoch."""
        return f"{self}: " + (f"a newer engine (epoch {known}) has resumed the job" if known > epoch else LOST)


class ListSink(Sink, SupportsPublishedQuery):
    """A sink that stages rows in ``StagedLists``. Rows are published exactly once if the target's steps are atomic."""

    isolates_bad_rows = True
    needs_order = True

    most_items: int
    most_bytes: ClassVar[int] = 4_000_000
    """Maximum size of the items in a request, in bytes; a larger item is sent in a separate request."""

    @abstractmethod
    def items(self, schema: TableSchema) -> Callable[[Batch], Iterable[Item]]:
        """Return the function that converts rows of a table to items; raise ``SinkError`` if the options do not fit."""

    @abstractmethod
    def lists(self, context: SinkContext | WriterContext, kind: type[SinkError] = SinkError) -> StagedLists:
        """Return the lists of a pipeline, which raise errors of ``kind``."""

    def check_schema(self, schema: TableSchema) -> None:
        self.items(schema)

    def prepare(self, context: SinkContext) -> None:
        self.lists(context).begin(context.prepared_in)

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "ListWriter":
        return ListWriter(self, {schema.table: self.items(schema) for schema in schemas}, context)

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        lists = self.lists(context, CommitError)
        for committable in committables:
            for name, total in _lists_of(committable):
                outcome = lists.publish(name, total)
                if outcome is Published.INCOMPLETE or (outcome is Published.BEFORE and not may_be_committed):
                    raise CommitError(f"{lists}: the staged rows {name}: {LOST}")

    def published(self, context: SinkContext) -> Iterable[str]:
        """Return the IDs of published lists, including partly published ones, which a rewind would publish again."""
        return {name.partition(":")[0] for name, count in self.lists(context).published().items() if count}

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        return self.lists(context).sweep(context.epoch + final, 0 if final else context.epoch, keep)

    def clear(self, context: SinkContext) -> None:
        super().clear(context)
        self.lists(context).clear()


def _lists_of(committable: Committable) -> list[tuple[str, int]]:
    """Return the names and lengths of a committable's lists; raise ``CommitError`` unless this sink created it."""
    match committable.body.get("lists"):
        case [*lists]:
            found = [(name, total) for name, total in map(_list, lists) if name.startswith(f"{committable.id}:")]
            if len(found) == len(lists):
                return found
    raise CommitError(f"the committable {committable.id!r} was not created by this sink")


def _list(written: Any) -> tuple[str, int]:
    match written:
        case [str(name), int(total)]:
            return name, total
    return "", 0


class ListWriter(SinkWriter):
    """Writer that appends the items of rows to a list."""

    def __init__(
        self, sink: ListSink, items: Mapping[str, Callable[[Batch], Iterable[Item]]], context: WriterContext
    ) -> None:
        """Create a writer; ``items`` maps each table to the function that converts its rows to items."""
        self._sink, self._items, self._lists = sink, items, sink.lists(context)
        self._name = f"{context.source_ordinal}-{context.epoch}-{context.unit}:{context.attempt}"
        self._staged = self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        items = list(self._items[batch.table](batch))  # convert all first: a bad row stages none
        for request in requests(items, self._sink.most_items, self._sink.most_bytes):
            self._lists.append(self._name, request)
        self._staged += len(items)
        self._rows += batch.rows.num_rows
        self._bytes += batch.rows.nbytes

    def finish(self) -> Staged:
        lists = [[self._name, self._staged]] if self._staged else []
        return Staged(body={"lists": lists}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        with suppress(SinkError):
            self._lists.discard(self._name)


def requests(items: Iterable[Item], most_items: int, most_bytes: int) -> Iterator[list[Item]]:
    """Group items into lists of limited length and size."""
    request: list[Item] = []
    size = 0
    for item in items:
        request.append(item)
        size += sum(map(len, item))
        if size >= most_bytes or len(request) >= most_items:
            yield request
            request, size = [], 0
    if request:
        yield request
