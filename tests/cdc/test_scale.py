"""Size of checkpoints of jobs with many chunks or tables (test 20 of the design)."""

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from attrs import define, evolve, field

from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart
from seatunnel_core.connectors.change_data.rereading import RereadChunks
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.jdbc.splitting import Piece
from seatunnel_core.connectors.mysql_cdc.planning import Planner as MySQLPlanner
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.recorded_tables import recorded
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.planner import Planner as PostgresPlanner
from seatunnel_core.connectors.postgres_cdc.published_tables import PublishedTable
from seatunnel_core.connectors.postgres_cdc.server import LogEnd
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.work.parts import without_parts
from tests.connectors.mysql_cdc.tables import DIALECT, table

CHUNKS = 100_000
MOST_BYTES = 1_000_000
STATE = ServerState(version="8.0.15", settings={"gtid_mode": "ON"})


@define
class ManyChunks(Chunks):
    """Tables that were divided into as many chunks as the test says, instead of by a database."""

    number: int = 1

    def _require_pieces(self, found: Found, start: ChunkStart, connection: Any) -> None:
        if self._table != start.table:
            bounds = [f"{number * 8096:020}" for number in range(1, self.number)]
            sides = zip([None, *bounds], [*bounds, None], strict=True)
            self._table = start.table
            self._pieces = [Piece(order="number", low=low, high=high, rows=8096) for low, high in sides]


class GrowingServer(Server):
    """A server whose log grows with each query for its end."""

    def __init__(self) -> None:
        super().__init__(dialect=DIALECT)
        object.__setattr__(self, "_offset", [0])

    def position(self, state: ServerState) -> LogPosition:
        self._offset[0] += 1000  # type: ignore[attr-defined]
        return LogPosition("mysql-bin.000001", self._offset[0])  # type: ignore[attr-defined]

    def files(self) -> list[str]:
        return ["mysql-bin.000001"]

    def connection(self, what: str) -> Any:
        return nullcontext()


@define
class PostgresState:
    """The cursor of ``Postgres-CDC`` over a whole snapshot, as the engine keeps it."""

    tables: list[Found]
    chunks: ManyChunks
    planner: PostgresPlanner = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.planner = PostgresPlanner(self.chunks, len(self.tables), True, False, "slot")

    def first(self) -> Any:
        return Capture(
            server="7123456789012345678",
            tables=tuple((each.reading.name, "0123456789ab") for each in self.tables),
            published=tuple(PublishedTable(oid=n, entry=f"p {n} {n} {n}") for n in range(len(self.tables))),
            log="16/B374D848",
            chunks=ChunkStart(),
        ).record()

    def turn(self, cursor: Any) -> tuple[Any, list[dict[str, Any]]]:
        end = LogEnd(inserted=Lsn.parse("16/C0000000"), flushed=Lsn.parse("16/C0000000"))
        unused: Any = None  # no table is read again
        found = self.planner.next(Capture.from_record(cursor), None, lambda: "00000003-0000001B-1", lambda: end, unused)
        return found.state.record(), [dict(each) for each in found.items]

    def absorbed(self, cursor: Any, items: list[dict[str, Any]]) -> Any:
        state = Capture.from_record(cursor)
        for item in reversed(items):  # the order in which they are read is any
            if "chunk" in item:
                state = state.read(item["chunk"]["number"], "4711:4713:4711")
        return state.record()

    def ended(self, cursor: Any) -> bool:
        return bool(cursor["reading"])


@define
class MySQLState:
    """The same of ``MySQL-CDC``."""

    tables: list[Found]
    chunks: ManyChunks
    server: GrowingServer = field(init=False, factory=GrowingServer)
    planner: MySQLPlanner = field(init=False)

    def __attrs_post_init__(self) -> None:
        names = [each.reading.name for each in self.tables]
        rereads = RereadChunks(self.chunks)
        self.planner = MySQLPlanner(
            server=self.server, state=STATE, tables=names, chunks=self.chunks, rereads=rereads, parallelism=16
        )

    def first(self) -> Any:
        progress = Progress(server="s", log=self.server.position(STATE), start=ChunkStart())
        return {**progress.cursor(), "tables": recorded(self.tables)}

    def turn(self, cursor: Any) -> tuple[Any, list[dict[str, Any]]]:
        found = self.planner.plan(Progress.of(cursor))
        return {**found.progress.cursor(), "tables": cursor["tables"]}, [*found.bodies]

    def absorbed(self, cursor: Any, items: list[dict[str, Any]]) -> Any:
        progress = Progress.of(cursor)
        for item in reversed(items):
            mark = {"chunk": item["chunk"], "mark": str(self.server.position(STATE))} if "chunk" in item else {}
            progress = progress.with_fact(mark or {"prepared": []})
        return {**cursor, **progress.cursor()}

    def ended(self, cursor: Any) -> bool:
        return cursor["start"] is None and not cursor["window"]


STATES: dict[str, Callable[..., Any]] = {"Postgres-CDC": PostgresState, "MySQL-CDC": MySQLState}


def checkpoints(state: Any) -> Iterator[tuple[int, int]]:
    """Yield the number of planned chunks, and the size of the cursor with all splits that are not read.

    A part of a cursor is an attachment that is stored once.
    """
    cursor, planned = state.first(), 0
    while not state.ended(cursor):
        cursor, items = state.turn(cursor)
        planned += sum("chunk" in item for item in items)
        yield planned, len(json.dumps([without_parts(cursor, lambda part: "0" * 64), items]).encode())
        cursor = state.absorbed(cursor, items)


def planned_within(state: Any, most_bytes: int) -> int:
    """Return the number of planned chunks; a larger checkpoint fails."""
    planned = 0
    for planned, size in checkpoints(state):
        assert size < most_bytes, f"{size:,} bytes with {planned:,} planned chunks"
    return planned


@pytest.mark.parametrize("source", STATES)
def test_checkpoints_of_100_000_chunks_stay_small(source: str) -> None:
    tables = [table("orders")]
    assert planned_within(STATES[source](tables, ManyChunks(tables, number=CHUNKS)), MOST_BYTES // 8) == CHUNKS


@pytest.mark.parametrize("source", STATES)
def test_checkpoints_of_1_000_tables_stay_small(source: str) -> None:
    columns = 30
    tables = [wide(f"a_table_with_a_long_name_{number:05}", columns) for number in range(1_000)]
    assert planned_within(STATES[source](tables, ManyChunks(tables)), MOST_BYTES) == len(tables)


def wide(name: str, columns: int) -> Found:
    """Return a table with many columns."""
    found = table(name)
    more = tuple(evolve(found.columns[1], name=f"a_longer_name_{number}") for number in range(columns))
    return evolve(found, columns=(*found.columns, *more))
