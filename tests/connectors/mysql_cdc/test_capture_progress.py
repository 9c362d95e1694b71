"""Progress of a capture of MySQL: from its state and what polls have learned, without a server."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.source_progress import SnapshotProgress
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart
from seatunnel_core.connectors.change_data.rereading import Reread, RereadChunks
from seatunnel_core.connectors.mysql_cdc.capture_progress import Observed, capture_progress
from seatunnel_core.connectors.mysql_cdc.progress import Progress, WindowChunk
from seatunnel_core.connectors.mysql_cdc.server import ServerState
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.server_stub import AnsweringServer

SIZES = {"bin.000001": 1_000, "bin.000002": 500, "bin.000003": 700}


def at(offset: int, file: int = 1) -> LogPosition:
    return LogPosition(f"bin.{file:06}", offset)


def state(offset: int, file: int = 1, **more: Any) -> Progress:
    return Progress(server="7", log=at(offset, file), **more)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found = [60.0]
    monkeypatch.setattr("time.time", lambda: found[0])
    return found


def observed() -> Observed:
    return Observed(tables=("shop.a", "shop.b"), chunks=Chunks([]), rereads=RereadChunks(Chunks([])), ahead_ms=5_000)


def polled(known: Observed, progress: Progress, end: LogPosition, sizes: Mapping[str, int] = SIZES) -> Observed:
    return known.and_end(progress, end, lambda: sizes, starts_now=False)


def test_nothing_is_known_before_the_first_poll() -> None:
    assert capture_progress(state(4), observed(), None) is None


def test_the_lag_counts_on_the_clock_of_the_server(now: list[float]) -> None:
    known = observed().and_end(state(100), at(100), dict, starts_now=True)
    now[0] += 3
    known = polled(known, state(100), at(400))
    progress = capture_progress(state(100), known, at(50))
    assert progress is not None
    assert (progress.position, progress.end, progress.oldest) == ("bin.000001:100", "bin.000001:400", "bin.000001:50")
    assert (progress.snapshot, progress.lag_bytes, progress.lag_seconds) == (None, 300, 3.0)
    restarted = capture_progress(state(100, committed_ms=58_000), polled(observed(), state(100), at(400)), None)
    assert restarted is not None
    assert (restarted.lag_seconds, restarted.oldest) == (10.0, "")


@pytest.mark.parametrize(
    ("start", "size"), [(at(900), 650), (at(4, 2), 546), (at(50, 3), 0), (at(60, 3), 0), (at(9, 9), 0)]
)
def test_the_distance_covers_files(now: list[float], start: LogPosition, size: int) -> None:
    progress = state(start.offset, int(start.file[-6:]))
    found = capture_progress(progress, polled(observed(), progress, at(50, 3)), None)
    assert found is not None
    assert found.lag_bytes == size


def test_the_distance_from_a_removed_file_is_unknown(now: list[float]) -> None:
    known = polled(observed(), state(900), at(50, 3), {"bin.000002": 500, "bin.000003": 700})
    found = capture_progress(state(900), known, None)
    assert found is not None
    assert found.lag_bytes is None


def test_chunks_count_when_they_have_their_mark(now: list[float]) -> None:
    chunk = {"order": "x", "low": None, "high": None}
    window = (WindowChunk(number=3, table=0, mark=at(9), **chunk), WindowChunk(number=4, table=1, **chunk))  # type: ignore[arg-type]
    known = polled(observed(), state(4), at(4))
    progress = capture_progress(state(4, chunks=5, window=window, start=None), known, None)
    assert progress is not None
    assert progress.snapshot is not None
    assert (progress.snapshot.tables_done, progress.snapshot.chunks_done) == (1, 4)
    begun = capture_progress(state(4, start=ChunkStart()), known, None)
    assert begun is not None
    assert begun.snapshot is not None
    assert begun.snapshot.tables_done == 0
    ended = capture_progress(state(4, chunks=5), known, None)
    assert ended is not None
    assert ended.snapshot == SnapshotProgress(tables=2, tables_done=2, chunks_done=5)


def test_the_copy_is_shown_before_a_table_that_is_read_again(now: list[float]) -> None:
    known, rereads = polled(observed(), state(4), at(4)), (Reread(table="shop.a"),)
    window = (WindowChunk(number=3, table=0, order="x", low=None, high=None),)
    for copying in ({"start": ChunkStart(table=1)}, {"window": window}):
        copied = state(4, chunks=4, **copying)
        assert capture_progress(evolve(copied, rereads=rereads), known, None) == capture_progress(copied, known, None)
    progress = capture_progress(state(4, chunks=4, rereads=rereads), known, None)
    assert progress is not None
    assert progress.snapshot is not None
    assert [(each.name, each.phase) for each in progress.snapshot.listed] == [("shop.a", "waiting")]


def test_the_time_of_the_last_transaction_is_kept() -> None:
    read = state(4).with_fact({"prepared": [], "committed_ms": 7_000}).with_fact({"prepared": []})
    assert read.committed_ms == 7_000
    record = read.cursor()
    assert Progress.of(record) == read
    del record["committed_ms"]
    assert Progress.of(record).committed_ms == 0, "stored by an earlier version"


def test_the_oldest_retained_checkpoint_needs_its_unread_splits() -> None:
    source: Any = object.__new__(MySQLCdcSource)
    bodies: list[dict[str, Any]] = [
        {"chunk": 1, "log": "bin.000001:70"},
        {"from": "bin.000001:60", "to": "bin.000001:80"},
    ]
    unread = [Split(index=index, weight_bytes=1, rows=1, body=body) for index, body in enumerate(bodies)]
    source._state = ServerState(version="8.0.15", settings={"server_uuid": "s"})
    source.acknowledge((), unread, {"log": "bin.000001:80", "server": "s"})
    assert source._oldest == at(60)
    source.acknowledge((), (), {"log": "bin.000001:80", "server": "s"})
    assert source._oldest == at(80)
    source.acknowledge((), (), {"log": "bin.000001:80", "server": "another"})
    assert source._oldest is None, "the position of another server"
    source.acknowledge((), (), {})
    assert source._oldest is None


def test_the_server_knows_its_files_and_its_clock() -> None:
    server = AnsweringServer({"SHOW BINARY LOGS": [(b"bin.000001", 1_000), ("bin.000002", 500)],
                              "SELECT UNIX_TIMESTAMP()": [(1_700_000_000,)]})  # fmt: skip
    assert server.file_sizes() == {"bin.000001": 1_000, "bin.000002": 500}
    assert server.files() == ["bin.000001", "bin.000002"]
    assert server.clock_ms() == 1_700_000_000_000
