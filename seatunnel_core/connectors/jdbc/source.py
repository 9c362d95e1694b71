"""The source ``Jdbc``: reads database tables and queries, divided into splits."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, ClassVar

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import ConnectorError, SourceError, UsageError
from seatunnel_core.connector_api.increments import INCREMENTAL, Increment, Incremental
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.values import Cursor, Split, Window
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.databases.dialect import TASK_MODULES, dialect_of
from seatunnel_core.connectors.jdbc.increments import Increments, increments_of
from seatunnel_core.connectors.jdbc.reading import Found, only_shown, readings_of
from seatunnel_core.connectors.jdbc.snapshot import SharedSnapshot

_BATCH_ROWS = 65_536
_ROW_BYTES = 100
"""Estimated size of a row in bytes. It only affects how splits are grouped into units."""

_log = logging.getLogger(__name__)


class JdbcSource(Source, Incremental):
    """If the database can share a snapshot (PostgreSQL), all splits of a job read the same state."""

    identifier: ClassVar[str] = "Jdbc"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SOURCE_OPTIONS
    caveat = (
        "Exception: if the job resumes in a new process or the server restarts, the remaining rows are read from "
        "the current state of the tables"
    )
    example = """
        # jdbc:postgresql://host:5432/shop also takes user and password
        url = "jdbc:sqlite:/data/shop.db"
        query = "SELECT 1 AS id, 'pen' AS name"
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        address = address_of(options)
        self.task_modules = TASK_MODULES.get(address.kind, ())
        self._dialect = dialect_of(address, options[opt.POOL])
        self.waits = False if address.kind in ("sqlite", "duckdb") else None
        self._readings = readings_of(self._dialect, options)
        if not self._dialect.shares_snapshots:
            self.caveat = (
                f"Exception: tables that change while the job runs. {address.kind} has no shared snapshots, so each "
                "split is read at a different time"
            )
        self._increment: Increment | None = options[INCREMENTAL]
        if self._increment is not None and len(self._readings) > 1:
            raise UsageError(
                "option 'incremental': a source can read only one table incrementally; write one source for each table"
            )
        self._window: Window | None = None
        self._nulls = options[opt.ROW_ERRORS] == "NULL"
        self._fetch_size: int = options[opt.FETCH_SIZE] or _BATCH_ROWS
        self._found: tuple[Found, ...] = ()
        self._snapshot: str | None = None
        self._shared: SharedSnapshot | None = SharedSnapshot(self._dialect)
        self._begun = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a task, without the connection that holds the snapshot."""
        found = tuple(only_shown(each) for each in self._found)
        return {**self.__dict__, "options": None, "_shared": None, "_found": found}

    # -- planning -------------------------------------------------------------------------------------------------

    def require_input(self) -> None:
        self._look()

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return tuple(each.schema() for each in self._look())

    def planned_reading(self) -> Sequence[str]:
        return [note for found in self._found if (note := found.division_note()) is not None]

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        splits: list[Split] = []
        for found in self._look():
            with (
                self._errors_wrapped(f"the table {found.reading.name} cannot be divided into splits"),
                self._dialect.pool.lend() as connection,
            ):
                bodies = self._bodies(found, connection, planning)
            for body, rows in bodies:
                splits.append(
                    Split(
                        index=len(splits),
                        weight_bytes=rows * _ROW_BYTES,
                        rows=rows,
                        body={"table": found.reading.name, **body},
                    )
                )
        return Enumeration(schemas=tuple(each.schema() for each in self._look()), splits=tuple(splits))

    def _bodies(self, found: Found, connection: Any, planning: PlanningContext) -> list[tuple[Mapping[str, Any], int]]:
        if self._window is None:
            return found.bodies(connection, planning)
        return [
            ({"part": part, **body}, rows)
            for part, condition in self._increments().parts(self._window).items()
            for body, rows in found.bodies(connection, planning, condition)
        ]

    # -- increments -----------------------------------------------------------------------------------------------

    @property
    def increment(self) -> Increment | None:
        return self._increment

    def reads(self) -> Mapping[str, str]:
        return self._increments().reads

    def window(self, after: Cursor | None) -> Window:
        with (
            self._errors_wrapped("the next increment cannot be determined"),
            self._dialect.pool.lend() as connection,
        ):
            return self._increments().window(lambda statement: self._dialect.ask(connection, statement), after)

    def read_window(self, window: Window) -> None:
        self._window = window

    def _condition(self, part: str) -> str:
        """Return the condition for a part of the window; raise ``SourceError`` if the job no longer has this window."""
        parts = {} if self._window is None else self._increments().parts(self._window)
        if part not in parts:
            raise SourceError(
                "the job was planned with the option incremental, which the job file no longer contains; restore it"
            )
        return parts[part]

    def _increments(self) -> Increments:
        assert self._increment is not None, "only for a source that reads incrementally"
        (found,) = self._look()
        return increments_of(found, self._increment)

    def _look(self) -> tuple[Found, ...]:
        """Return the tables with their metadata from the database, and cache them."""
        if not self._found:
            self._dialect.require()
            found = []
            for reading in self._readings:
                named = "the query" if reading.path is None else f"the table {reading.name}"
                with self._errors_wrapped(f"{named} cannot be read"), self._dialect.pool.lend() as connection:
                    found.append(reading.found(connection))
            self._found = tuple(found)
        return self._found

    # -- one snapshot for all splits ------------------------------------------------------------------------------

    def open(self, *, restored: bool) -> None:
        self._look()
        if not self._dialect.shares_snapshots:
            _log.info("the source Jdbc: each split reads the current state of %s", self._dialect.address)
            return
        assert self._shared is not None, "internal error: a task used a connection of the driver"
        before = self._snapshot
        with self._errors_wrapped("a shared snapshot cannot be opened"):
            self._snapshot = self._shared.open(self)
        if self._snapshot == before:
            return
        if restored or self._begun:
            _log.warning(
                "the Jdbc source continues with a newer state of %s. Rows that changed since the job started may "
                "be missing or duplicated if the change moved them to another split",
                self._dialect.address,
            )
        self._begun = True

    def close(self) -> None:
        if self._shared is not None:
            self._shared.close(self)
            self._snapshot = None

    @classmethod
    def meet(cls, sources: Sequence[Source]) -> None:
        """Let all sources of a job that read the same database share one snapshot, and therefore one connection."""
        shared: dict[Any, SharedSnapshot] = {}
        for each in (source for source in sources if isinstance(source, JdbcSource)):
            each._shared = shared.setdefault(each._dialect.address, SharedSnapshot(each._dialect))

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        found = self._of(stored.text(split.body, "table"))
        schema = found.schema()
        (where,) = self.describe([split])
        part = stored.text(split.body, "part") if "part" in split.body else ""
        increments = self._increments() if part else None
        more = self._condition(part) if part else ""
        rows = self._dialect.read(found.statement(split.body, more), found.columns, self._fetch_size, self._snapshot)
        with (
            self._errors_wrapped(f"{where} cannot be read"),
            closing(rows),
        ):  # It holds a connection that others wait for.
            for fitting in found.fitted(rows, f"{self._dialect.address}, {where}", context, nulls=self._nulls):
                if increments is not None and self._window is not None:
                    fitting = increments.kept(part, self._window, fitting)
                if fitting.num_rows:
                    yield Batch(table=schema.table, rows=fitting)

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [_described(split.body, self._of(stored.text(split.body, "table"))) for split in splits]

    def _of(self, table: str) -> Found:
        for found in self._look():
            if found.reading.name == table:
                return found
        raise SourceError(
            f"the table {table!r} was planned when the job started, but the source no longer reads it; "
            "restore it in the options, or start a new job"
        )

    @contextmanager
    def _errors_wrapped(self, what: str) -> Iterator[None]:
        """Convert database errors to ``SourceError``, retryable if a retry may help."""
        try:
            yield
        except SourceError:
            raise
        except ConnectorError as error:
            found = SourceError(f"{what}: {error}")
            found.retryable = error.retryable
            raise found from error
        except Exception as error:
            raise self._dialect.failed(SourceError, f"{self._dialect.address}: {what}", error) from error


def _described(body: Mapping[str, Any], found: Found) -> str:
    """Return a description of a split for messages: its table, and the bounds of its rows."""
    named = "the query" if found.reading.path is None else f"table {found.reading.name}"
    if not body["column"] or (body["low"] is None and body["high"] is None):
        return f"all of {named}"
    sides = [f"from {body['low']}"] if body["low"] is not None else []
    sides += [f"{'up to' if body['closed'] else 'below'} {body['high']}"] if body["high"] is not None else []
    return f"{named}, {body['column']} {' '.join(sides)}"
