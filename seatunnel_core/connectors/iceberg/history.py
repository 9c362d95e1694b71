"""What the snapshots of a table say about the commits of one sink.

Each commit leaves its identity in the summary of its snapshot: the job, the pipeline, the sink, the epoch of the engine
that made it, and the ids of the committables. A commit is repeated when their ids stand there already.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_core.connectors.sink import SinkContext

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_JOB, _PIPELINE, _SINK = "seatunnel.job-id", "seatunnel.pipeline-id", "seatunnel.sink"
_EPOCH, _COMMITTED, _RETRACTED = "seatunnel.epoch", "seatunnel.committables", "seatunnel.retracted"
_FILES = "seatunnel.files"


def identity(
    context: SinkContext, *, committed: Mapping[str, int] | None = None, retracted: Sequence[str] = ()
) -> dict[str, str]:
    """The properties of a snapshot that this sink makes.

    Args:
        committed: the ids of the committables, and how many files each of them has in this table.
    """
    said = {
        _JOB: context.job_id,
        _PIPELINE: str(context.pipeline_id),
        _SINK: str(context.sink_ordinal),
        _EPOCH: str(context.epoch),
    }
    if committed:
        said[_COMMITTED] = ",".join(committed)
        said[_FILES] = ",".join(map(str, committed.values()))
    if retracted:
        said[_RETRACTED] = ",".join(retracted)
    return said


def committed_ids(table: "Table", context: SinkContext, after: int = 0) -> set[str]:
    """The ids of the committables that were published, as far as the snapshots are still there.

    Args:
        after: a sequence number of the table; what has this one or a smaller one is left out.
    """
    return {each for said in _own(table, context, after) for each in _listed(said, _COMMITTED)}


def committed_files(table: "Table", context: SinkContext) -> dict[str, int]:
    """The same with the number of files of each."""
    found: dict[str, int] = {}
    for said in _own(table, context):
        ids = _listed(said, _COMMITTED)
        counts = list(map(int, _listed(said, _FILES))) or [1] * len(ids)  # older snapshots have one file for each
        found |= dict(zip(ids, counts, strict=True))
    return found


def retracted_ids(table: "Table", context: SinkContext) -> set[str]:
    """The ids of those that were taken back since."""
    return {each for said in _own(table, context) for each in _listed(said, _RETRACTED)}


def newest_epoch(table: "Table", context: SinkContext) -> int:
    """The largest epoch in which this sink committed anything, also nothing but its epoch; 0 when it never did."""
    return max((int(said[_EPOCH]) for said in _own(table, context)), default=0)


def last_number(table: "Table") -> int:
    """The largest sequence number that a snapshot ever had; 0 in the first version of the format, which has none."""
    return int(getattr(table.metadata, "last_sequence_number", 0))


def is_cut(table: "Table", after: int = 0) -> bool:
    """Whether somebody may have removed snapshots that came after a sequence number, so that not every commit since
    then is told by them: there are fewer than there were commits, or the table is of the first version of Iceberg's
    format, which does not count them."""
    return len(_snapshots(table, after)) != last_number(table) - after


def named_files(table: "Table", job_folder: str, after: int = 0) -> set[str]:
    """The names of the job's data files that any snapshot of the table has, of those that came after a sequence number:
    a manifest's is that of the snapshot that wrote it, and all that is newer stands in newer ones."""
    known = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    manifests = {
        manifest.manifest_path: manifest
        for snapshot in _snapshots(table, after)
        for manifest in snapshot.manifests(table.io)
        if not after or manifest.sequence_number > after
    }
    return {
        entry.data_file.file_path.rpartition("/")[2]
        for manifest in manifests.values()
        if _may_name(manifest, known)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        if f"/seatunnel/{job_folder}/" in entry.data_file.file_path
    }


def _may_name(manifest: Any, known: dict[int, Any]) -> bool:
    """Whether a manifest can name a file of the job. One that another writer's snapshot added, with nothing in it from
    before, names that writer's files."""
    added_by = known.get(manifest.added_snapshot_id)
    foreign = added_by is not None and (added_by.summary is None or _JOB not in added_by.summary.additional_properties)
    return not foreign or manifest.has_existing_files()


def live_files(table: "Table", chosen: Callable[[str], bool]) -> list[Any]:
    """The data files of the current snapshot whose paths are chosen."""
    snapshot = table.current_snapshot()
    manifests = snapshot.manifests(table.io) if snapshot is not None else ()
    entries = (entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io))
    return [
        entry.data_file for entry in entries if entry.data_file.content.value == 0 and chosen(entry.data_file.file_path)
    ]


def _snapshots(table: "Table", after: int) -> "list[Snapshot]":
    """Those of all branches, also of what main was set back from. Tables that do not number them give all."""
    every = table.metadata.snapshots
    return [snapshot for snapshot in every if (snapshot.sequence_number or 0) > after] if after else list(every)


def _own(table: "Table", context: SinkContext, after: int = 0) -> Iterator[dict[str, str]]:
    """The summaries of this sink's snapshots."""
    wanted = identity(context)
    del wanted[_EPOCH]
    for snapshot in _snapshots(table, after):
        said = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        if all(said.get(key) == value for key, value in wanted.items()) and said.get(_EPOCH, "").isdigit():
            yield said


def _listed(said: dict[str, str], key: str) -> list[str]:
    return [each for each in said.get(key, "").split(",") if each]
