"""Progress of a capture of PostgreSQL: from its state and what polls have learned, without a server."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source_progress import SnapshotProgress, SourceProgress
from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart
from seatunnel_core.connectors.change_data.rereading import Reread, RereadChunks
from seatunnel_core.connectors.postgres_cdc.capture_progress import Observed, capture_progress
from seatunnel_core.connectors.postgres_cdc.cursor import Capture, Mark
from seatunnel_core.connectors.postgres_cdc.options import SOURCE_OPTIONS
from seatunnel_core.connectors.postgres_cdc.server import LogEnd
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_log.lsn import Lsn


def capture(log: str, **given: Any) -> Capture:
    values = {"server": "7", "tables": (("a", "x"), ("b", "y")), "log": log, "chunks": ChunkStart(table=2)}
    return Capture(**{**values, **given})


def end(flushed: int, at_ms: int, restart: int | None = 0x80) -> LogEnd:
    at = None if restart is None else Lsn(restart)
    return LogEnd(inserted=Lsn(flushed + 8), flushed=Lsn(flushed), restart=at, at_ms=at_ms)


def observed(*, reads_tables: bool = False) -> Observed:
    return Observed(chunks=Chunks([]), rereads=RereadChunks(Chunks([])), reads_tables=reads_tables)


def test_a_snapshot_without_a_log() -> None:
    mark = Mark(table=0, high=None)
    state = capture("", next=5, waiting=(mark, Mark(table=1, high=None, snapshot="1:1:")))
    progress = capture_progress(state, observed(reads_tables=True))
    assert progress.position == progress.end == progress.oldest == ""
    assert progress.lag_bytes is progress.lag_seconds is None
    assert progress.snapshot is not None
    assert (progress.snapshot.tables_done, progress.snapshot.chunks_done) == (1, 4)


def test_the_copy_is_shown_before_a_table_that_is_read_again() -> None:
    known, rereads = observed(reads_tables=True), (Reread(table="a"),)
    for copying in ({"chunks": ChunkStart(table=1)}, {"waiting": (Mark(table=1, high=None),)}):
        state = capture("", next=5, **copying)
        assert capture_progress(evolve(state, rereads=rereads), known) == capture_progress(state, known)
    progress = capture_progress(capture("", next=5, rereads=rereads), known)
    assert progress.snapshot is not None
    assert [(each.name, each.phase) for each in progress.snapshot.listed] == [("a", "waiting")]


def test_the_end_of_the_snapshot() -> None:
    progress = capture_progress(capture("", next=5), observed(reads_tables=True))
    assert progress == SourceProgress(snapshot=SnapshotProgress(tables=2, tables_done=2, chunks_done=5))


def test_a_job_that_starts_now_knows_its_lag_from_the_start() -> None:
    known = observed().and_end(capture("0/100"), end(0x180, 60_000), starts_now=True)
    known = known.and_end(capture("0/100"), end(0x200, 62_000), starts_now=False)
    progress = capture_progress(capture("0/100"), known)
    assert progress == SourceProgress(position="0/100", end="0/200", oldest="0/80", lag_bytes=256, lag_seconds=2.0)
    assert capture_progress(capture("0/200"), known).lag_seconds == 0


def test_a_restarted_job_takes_the_time_of_the_last_commit() -> None:
    known = observed().and_end(capture("0/100"), end(0x200, 60_000, restart=None), starts_now=False)
    assert capture_progress(capture("0/100"), known).lag_seconds is None
    progress = capture_progress(capture("0/100", committed_ms=20_000), known)
    assert (progress.lag_seconds, progress.oldest) == (40.0, "0/100")


def test_a_replica_may_be_behind_the_job() -> None:
    known = observed().and_end(capture("0/300"), end(0x200, 60_000), starts_now=False)
    progress = capture_progress(capture("0/300"), known)
    assert (progress.end, progress.lag_bytes, progress.lag_seconds) == ("0/300", 0, 0)


def test_the_time_of_the_last_commit_stays_until_another_one_is_read() -> None:
    state = capture("0/100").logged("0/200", 5_000).logged("0/300")
    assert (state.log, state.committed_ms) == ("0/300", 5_000)
    record = state.record()
    assert Capture.from_record(record) == state
    del record["committed_ms"]
    assert Capture.from_record(record).committed_ms == 0, "stored by an earlier version"


def test_a_source_without_a_cursor_has_no_progress() -> None:
    given = {"url": "jdbc:postgresql://db/shop", "username": "me", "table-names": ("a",)}
    source = PostgresCdcSource(Options(given, SOURCE_OPTIONS))
    assert source.progress(capture("0/100").record()) is None
    source._observed = observed()
    assert source.progress({}) is None
    assert source.progress(capture("0/100").record()) is not None
