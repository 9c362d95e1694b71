"""Requests to read tables again, which are pending until a checkpoint contains them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from attrs import define, field

from seatunnel_core.connector_api.capabilities import SupportsReread
from seatunnel_core.connector_api.source import PollCursor
from seatunnel_core.errors import UsageError
from seatunnel_core.planning.plan import PlannedPipeline

Answer = Callable[[str], None]
"""Callback for the result of a request: the reason why it failed, or an empty string once a checkpoint contains it."""


@define(eq=False)
class Reread:
    """Request to a source to read a table again."""

    source: str
    """Name of the source."""

    table: str
    answer: Answer = field(repr=False)
    rejection: str = field(default="", init=False)
    """Reason why the source has rejected the request; empty if it has not."""

    is_in_cursor: bool = field(default=False, init=False)
    """True if the cursor of the poll in progress contains the request."""

    def added(self, source: SupportsReread, cursor: PollCursor) -> PollCursor:
        """Return the cursor with the request, or unchanged if the source rejects it. Called in a thread of the pool."""
        self.is_in_cursor = False
        try:
            cursor = source.reread(cursor, self.table)
        except UsageError as error:
            self.rejection = str(error)
        else:
            self.is_in_cursor = True
        return cursor


@define(eq=False)
class Rereads:
    """Requests of an epoch. All methods are called on the loop's thread.

    A poll adds the request to the cursor, which becomes part of the source's state. The request is answered once a
    checkpoint that was triggered afterwards is complete.
    """

    _new: list[Reread] = field(factory=list, init=False)
    _taken: list[Reread] = field(factory=list, init=False)
    """Requests that are contained in the state of their source, but not yet in a checkpoint."""

    _triggered: dict[int, list[Reread]] = field(factory=dict, init=False)
    """Requests that a triggered checkpoint contains, keyed by the ID of the first such checkpoint."""

    _closed: str = field(default="", init=False)
    """Reason why requests are rejected; empty while they are accepted."""

    def add(self, reread: Reread) -> None:
        """Keep a request for the next poll of its source."""
        if self._closed:
            reread.answer(self._closed)
        else:
            self._new.append(reread)

    def of(self, source: str) -> tuple[Reread, ...]:
        """Return the requests that the next poll of a source must add to the cursor."""
        return tuple(each for each in self._new if each.source == source)

    def polled(self, passed: Sequence[Reread]) -> bool:
        """Record that the source has accepted or rejected requests; return True if it has accepted one."""
        accepted = False
        for each in passed:
            if each not in self._new or not (each.rejection or each.is_in_cursor):
                continue
            self._new.remove(each)
            if each.rejection:
                each.answer(each.rejection)
            else:
                self._taken.append(each)
                accepted = True
        return accepted

    def triggered(self, checkpoint_id: int) -> None:
        """Record that the barriers of a checkpoint were sent."""
        if self._taken:
            self._triggered[checkpoint_id], self._taken = self._taken, []

    def completed(self, checkpoint_id: int) -> None:
        """Answer the requests that a complete checkpoint contains."""
        for number in [each for each in self._triggered if each <= checkpoint_id]:
            for each in self._triggered.pop(number):
                each.answer("")

    def close(self, reason: str, *, unsaved: bool = True) -> None:
        """Reject new requests and those that no poll has received; with ``unsaved``, also those without a checkpoint.

        After a request to stop, polls that are still in progress do not change the state any more.
        """
        self._closed = self._closed or reason
        waiting, self._new = self._new, []
        if unsaved:
            waiting += [*self._taken, *(each for some in self._triggered.values() for each in some)]
            self._taken, self._triggered = [], {}
        for each in waiting:
            each.answer(reason)


def rereadable(planned: PlannedPipeline) -> tuple[str, ...] | None:
    """Return the tables that the sources of a pipeline can read again; ``None`` if no source supports this."""
    found = [each.source for each in planned.sources if isinstance(each.source, SupportsReread)]
    return tuple(table for each in found for table in each.captured_tables()) if found else None


def sources_with(planned: PlannedPipeline, table: str) -> Mapping[str, str]:
    """Return the sources that can read a captured table again, each with the reason why its sinks cannot, or ``""``."""
    return {
        each.name: _sinks_problem(planned, each.name)
        for each in planned.sources
        if isinstance(each.source, SupportsReread) and table in each.source.captured_tables()
    }


def _sinks_problem(planned: PlannedPipeline, source: str) -> str:
    """Return the reason why the rows of a source cannot be written again; empty if all its sinks replace rows."""
    unfit = [
        each.name for each in planned.sinks if source in planned.roots(*each.inputs) and not each.sink.replaces_rows
    ]
    if not unfit:
        return ""
    return (
        f"the sink {', '.join(unfit)} does not replace rows by key, so its rows would be duplicated; only these "
        "sinks replace rows by key: Jdbc with a key and enable_upsert = true, Iceberg and DuckDB with write_mode = "
        "merge (without keep_history), and Redis with strings or hashes"
    )


class RereadPipeline(Protocol):
    """Methods of ``PipelineRun`` that are used to read tables again."""

    @property
    def rereadable(self) -> Sequence[str] | None:
        """Tables that the sources of the pipeline can read again; ``None`` if no source supports this."""

    def reread(self, table: str, answer: Callable[[str, str], None]) -> int:
        """Pass a request to each source that captures a table; return the number of answers to expect.

        ``answer`` receives the name of the source, and the reason if the request was rejected.
        """


def request_reread(pipelines: Sequence[RereadPipeline], table: str, accepted: "Future[None]") -> None:
    """Request that a table is read again, on the loop's thread.

    ``accepted`` receives ``None`` once checkpoints contain the requests of all sources that capture the table, or a
    ``UsageError``.
    """
    known = [each.rereadable for each in pipelines]
    tables = sorted({name for some in known for name in some or ()})
    if table not in tables:
        accepted.set_exception(UsageError(_unknown(table, tables, can_reread=any(each is not None for each in known))))
        return
    results: list[tuple[str, str]] = []
    expected: int | None = None

    def answered(source: str, rejection: str) -> None:
        results.append((source, rejection))
        conclude()

    def conclude() -> None:
        if len(results) != expected:
            return
        reasons = "; ".join(dict.fromkeys(reason for _, reason in results if reason))
        others = ", ".join(source for source, reason in results if not reason)
        if reasons:
            only = f"read again only by the source {others}" if others else "not read again"
            accepted.set_exception(UsageError(f"the table {table} is {only}: {reasons}"))
        else:
            accepted.set_result(None)

    expected = sum(each.reread(table, answered) for each in pipelines)
    conclude()


def _unknown(table: str, tables: Sequence[str], *, can_reread: bool) -> str:
    if not can_reread:
        return "no source of the job can read a table again; MySQL-CDC, MariaDB-CDC and Postgres-CDC can"
    if not tables:
        return "the job is still starting, so its tables are not known yet; try again"
    known = ", ".join(tables[:20]) + (", …" if len(tables) > 20 else "")
    return f"no source of the job captures the table {table}; they capture {known}"
