"""Progress of a snapshot, as users see it."""

from seatunnel_core.connector_api.source_progress import SnapshotProgress, TableProgress
from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart
from seatunnel_core.connectors.change_data.snapshot_progress import snapshot_progress

NAMES = ("a", "b", "c")


def chunks(**taken: tuple[int, int | None]) -> Chunks:
    """Return an object that has returned chunks of tables, of which each has a number."""
    made = Chunks([])
    for name, (returned, size) in taken.items():
        made.taken[NAMES.index(name)] = returned
        made.sizes[NAMES.index(name)] = size
    return made


def shown(progress: SnapshotProgress) -> list[tuple[str, str, int, int | None]]:
    return [(each.name, each.phase, each.chunks_done, each.chunks) for each in progress.listed]


def test_nothing_is_planned_yet() -> None:
    progress = snapshot_progress(NAMES, chunks(), ChunkStart(), 0, ())
    assert (progress.tables, progress.tables_done, progress.chunks_done) == (3, 0, 0)
    assert shown(progress) == [(name, "waiting", 0, None) for name in NAMES]


def test_tables_being_read_come_first() -> None:
    known = chunks(a=(4, 4), b=(2, 5))
    progress = snapshot_progress(NAMES, known, ChunkStart(table=1, low="7"), 6, [1])
    assert (progress.tables_done, progress.chunks_done) == (1, 5)
    assert shown(progress) == [("b", "reading", 1, 5), ("c", "waiting", 0, None), ("a", "done", 4, 4)]


def test_a_table_is_done_when_its_last_chunk_is_read() -> None:
    known = chunks(a=(2, 2), b=(1, 1), c=(1, 1))
    progress = snapshot_progress(NAMES, known, ChunkStart(table=3), 4, [0, 2])
    assert (progress.tables_done, progress.chunks_done) == (1, 2)
    assert [each[:3] for each in shown(progress)] == [("a", "reading", 1), ("c", "reading", 0), ("b", "done", 1)]


def test_a_table_between_two_chunks_is_being_read() -> None:
    progress = snapshot_progress(NAMES, chunks(a=(2, None)), ChunkStart(low="7"), 2, ())
    assert progress.listed[0] == TableProgress(name="a", phase="reading", chunks_done=2)


def test_chunks_of_an_earlier_process_are_read_again() -> None:
    """The process that continues a job reads them without having planned them."""
    progress = snapshot_progress(NAMES, chunks(a=(1, 2)), ChunkStart(low="7"), 40, [0, 0, 0])
    assert progress.chunks_done == 37
    assert progress.listed[0] == TableProgress(name="a", phase="reading", chunks_done=0, chunks=3)


def test_a_complete_snapshot_lists_no_table() -> None:
    for start in (None, ChunkStart(table=3)):
        progress = snapshot_progress(NAMES, chunks(a=(2, 2)), start, 9, ())
        assert progress.is_done
        assert progress == SnapshotProgress(tables=3, tables_done=3, chunks_done=9)


def test_of_many_tables_a_part_is_listed() -> None:
    names = [f"t{number}" for number in range(1_000)]
    progress = snapshot_progress(names, Chunks([]), ChunkStart(table=500), 600, [499, 480])
    assert (progress.tables_done, len(progress.listed)) == (498, 50)
    assert [each.name for each in progress.listed[:3]] == ["t480", "t499", "t500"]
