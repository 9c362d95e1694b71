"""What a poll plans from the cursor and the log."""

import json
from typing import Any

import pytest
from attrs import define, evolve, field

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.chunks import Chunk, ChunkStart
from seatunnel_core.connectors.change_data.rereading import RereadChunks
from seatunnel_core.connectors.jdbc.splitting import Piece
from seatunnel_core.connectors.mysql_cdc.planning import Planner
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.tables import DIALECT, table

STATE = ServerState(version="8.0.15", settings={"gtid_mode": "OFF"})


def at(offset: int, file: int = 1) -> LogPosition:
    return LogPosition(f"bin.{file:06}", offset)


class LogServer(Server):
    """A server whose log ends where the test says."""

    def __init__(self, end: int = 100, *files: str) -> None:
        super().__init__(dialect=DIALECT)
        object.__setattr__(self, "_log", {"end": at(end), "files": list(files) or ["bin.000001"], "clock_ms": 0})

    def clock_ms(self) -> int:
        return self._log["clock_ms"]  # type: ignore[attr-defined]

    def move(self, end: LogPosition) -> None:
        self._log["end"] = end  # type: ignore[attr-defined]

    def position(self, state: ServerState) -> LogPosition:
        return self._log["end"]  # type: ignore[attr-defined]

    def files(self) -> list[str]:
        return self._log["files"]  # type: ignore[attr-defined]

    def connection(self, what: str) -> Any:
        from contextlib import nullcontext

        return nullcontext()


@define
class TenChunks:
    """Two tables with as many chunks as the test says."""

    counts: tuple[int, ...] = (5, 6)
    tables: list[Any] = field(factory=lambda: [table("a"), table("b")])

    def take(self, start: ChunkStart, most: int, connection: Any) -> tuple[list[Chunk], ChunkStart]:
        every = [(t, n) for t, count in enumerate(self.counts) for n in range(count)]
        first = every.index((start.table, int(start.low or 0) // 10)) if start.table < len(self.counts) else len(every)
        taken = []
        for t, n in every[first : first + most]:
            last = n == self.counts[t] - 1
            piece = Piece(order="number", low=str(n * 10) if n else None, high=None if last else str(n * 10 + 10))
            after = ChunkStart(table=t + 1) if last else ChunkStart(table=t, order="number", low=piece.high)
            taken.append(Chunk(table=t, found=self.tables[t], piece=piece, next=after))
        return taken, taken[-1].next if taken else start


def planner(server: LogServer, **more: Any) -> Planner:
    chunks: Any = TenChunks()
    return Planner(
        server=server,
        state=STATE,
        tables=["shop.a", "shop.b"],
        chunks=chunks,
        rereads=RereadChunks(chunks),
        parallelism=2,
        **more,
    )


def first(**more: Any) -> Progress:
    return Progress(server="s", log=at(100), start=ChunkStart(), **more)


def stored(progress: Progress) -> Progress:
    """The progress as a checkpoint has it."""
    found = Progress.of(json.loads(json.dumps(progress.cursor())))
    assert found == progress
    return found


def marked(progress: Progress, *marks: int) -> Progress:
    for number, mark in enumerate(marks):
        chunk = progress.window[number].number
        progress = stored(progress).with_fact({"chunk": chunk, "mark": str(at(mark))})
    return progress


def test_windows_alternate_with_the_log_up_to_their_last_mark() -> None:
    plan = planner(LogServer()).plan
    window = plan(first())
    assert [body["chunk"] for body in window.bodies] == list(range(8))
    assert {body["log"] for body in window.bodies} == {"bin.000001:100"}
    assert [body["table"] for body in window.bodies] == ["shop.a"] * 5 + ["shop.b"] * 3
    waiting = plan(marked(window.progress, 200, 500, 300, 200, 200, 200, 200))
    assert (waiting.bodies, waiting.again_ms) == ((), 200)
    log, *chunks = plan(marked(window.progress, 200, 500, 300, 200, 200, 200, 200, 200)).bodies
    assert (log["from"], log["to"], len(log["window"])) == ("bin.000001:100", "bin.000001:500", 8)
    assert log["window"][1] == ["shop.a", "number", "10", "20", "bin.000001:500"]
    assert [body["chunk"] for body in chunks] == [8, 9, 10]


def test_a_range_is_planned_when_the_one_before_it_was_read() -> None:
    """Sinks that write directly may commit two ranges in any order, and the second one depends on the first one."""
    server = LogServer(100)
    plan = planner(server).plan
    last = evolve(plan(first()).progress, start=None)
    server.move(at(900))
    planned = plan(marked(last, *[300] * 8))
    assert [body["to"] for body in planned.bodies] == ["bin.000001:300"]
    waiting = plan(stored(planned.progress))
    assert (waiting.bodies, waiting.again_ms) == ((), 200)
    (body,) = plan(waiting.progress.with_fact({"prepared": ["x"]})).bodies
    assert (body["from"], body["to"], body["prepared"]) == ("bin.000001:300", "bin.000001:900", ["x"])


def test_a_window_waits_for_the_range_before_it() -> None:
    plan = planner(LogServer()).plan
    second = plan(marked(plan(first()).progress, *[300] * 8)).progress
    read = marked(second, 400, 400, 400)
    assert plan(read).bodies == ()
    (body,) = plan(read.with_fact({"prepared": ["x"]})).bodies
    assert (body["from"], body["to"], body["prepared"]) == ("bin.000001:300", "bin.000001:400", ["x"])


def test_marks_of_the_first_window_may_lie_below_the_start() -> None:
    """MariaDB's snapshots are at the last committed transaction, and the log may end behind it."""
    server = LogServer(100)
    plan = planner(server).plan
    window = plan(first()).progress
    range_body, *_ = plan(marked(window, 60, *[90] * 7)).bodies
    assert (range_body["from"], range_body["to"]) == ("bin.000001:60", "bin.000001:90")
    same = plan(marked(window, *[60] * 8))
    assert [body.get("chunk") for body in same.bodies] == [8, 9, 10]
    assert same.progress.log == at(60)
    with pytest.raises(
        SourceChangedError, match=r"ends at bin\.000001:59, but the job has read it up to .*:60: the log was"
    ):
        plan(marked(same.progress, 70, 59, 70))


def test_a_window_in_which_nothing_was_logged_has_no_range() -> None:
    plan = planner(LogServer()).plan
    window = plan(first())
    again = plan(marked(window.progress, *[100] * 8))
    assert [body.get("chunk") for body in again.bodies] == [8, 9, 10]
    log = plan(marked(again.progress, *[100] * 3))
    assert log.bodies == ()


def test_the_log_goes_on_range_by_range() -> None:
    server = LogServer(100)
    plan = planner(server).plan
    done = first(window=(), chunks=11)
    done = evolve(done, start=None)
    assert (plan(done).bodies, plan(done).again_ms) == ((), 200)
    server.move(at(900))
    planned = plan(stored(done))
    tables = ["shop.a", "shop.b"]
    body = {"from": "bin.000001:100", "to": "bin.000001:900", "server": "s", "prepared": [], "tables": tables}
    assert planned.bodies == (body,)
    assert plan(planned.progress).bodies == ()
    read = stored(planned.progress).with_fact({"read": "bin.000001:700", "stopped": "", "prepared": ["x"]})
    (body,) = plan(read).bodies
    assert (body["from"], body["to"], body["prepared"]) == ("bin.000001:700", "bin.000001:900", ["x"])


def test_a_job_ends_at_its_stop() -> None:
    server = LogServer(900)
    plan = planner(server).plan
    progress = evolve(first(stop=at(500)), start=None)
    planned = plan(progress)
    assert planned.bodies[0]["to"] == "bin.000001:500"
    read = planned.progress.with_fact({"read": "bin.000001:500", "stopped": "", "prepared": []})
    assert plan(read).again_ms is None


def test_the_end_of_the_log_is_the_stop_once_tables_are_read() -> None:
    server = LogServer(900)
    plan = planner(server, stops_at_end=True).plan
    planned = plan(evolve(first(), start=None))
    assert planned.progress.stop == at(900)
    server.move(at(2_000))
    read = stored(planned.progress).with_fact({"read": "bin.000001:900", "stopped": "", "prepared": []})
    assert plan(read).again_ms is None


def test_the_time_of_the_start_is_in_every_range() -> None:
    progress = evolve(first(since_ms=7), start=None)
    assert planner(LogServer(900)).plan(stored(progress)).bodies[0]["since_ms"] == 7


def test_a_log_without_the_next_events_is_an_error() -> None:
    progress = evolve(first(), start=None)
    with pytest.raises(SourceChangedError, match=r"no longer has the log file bin\.000001.*oldest one is bin\.000002"):
        planner(LogServer(900, "bin.000002")).plan(progress)
    server = LogServer(50)
    with pytest.raises(SourceChangedError, match="the log was reset"):
        planner(server).plan(progress)


def test_a_redefined_table_stops_the_job() -> None:
    progress = first().with_fact({"read": "bin.000001:700", "stopped": "the statement …", "prepared": []})
    with pytest.raises(SourceChangedError, match="the statement"):
        planner(LogServer()).plan(stored(progress))


def test_changed_columns_are_in_the_cursor_before_they_stop_the_job() -> None:
    fact = {"read": "bin.000001:700", "stopped": "the statement …", "changed": ["shop.m"], "prepared": []}
    planned = planner(LogServer()).plan(stored(first().with_fact(fact)))
    assert (planned.bodies, planned.again_ms) == ((), 0)
    with pytest.raises(ColumnsChangedError, match="the statement"):
        planner(LogServer()).plan(stored(planned.progress))


def test_a_job_with_an_end_in_time_ends_there_or_when_the_clock_has_passed_it() -> None:
    server = LogServer(900)
    plan = planner(server).plan
    progress = evolve(first(), start=None, until_ms=5_000)
    planned = plan(stored(progress))
    assert planned.bodies[0]["until_ms"] == 5_000
    fact = {"read": "bin.000001:300", "stopped": "", "prepared": [], "ended": True}
    reached = plan(stored(planned.progress.with_fact(fact)))
    assert (reached.bodies, reached.again_ms) == ((), None)
    quiet = planned.progress.with_fact({**fact, "read": "bin.000001:900", "ended": False})
    assert plan(stored(quiet)).again_ms == 200, "the time has not come"
    server._log["clock_ms"] = 5_000  # type: ignore[attr-defined]
    ended = plan(stored(quiet))
    assert (ended.bodies, ended.again_ms) == ((), None)
