"""The commits of one sink, from the summaries of a table's snapshots.

Each commit stores its identity in the summary of its snapshot: the job, the pipeline, the sink, the epoch of the
engine, and the IDs of the committables. A committable is committed if its ID is in a summary.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from seatunnel_core.connector_api.sink import SinkContext

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_JOB, _PIPELINE, _SINK = "seatunnel.job-id", "seatunnel.pipeline-id", "seatunnel.sink"
_EPOCH, _COMMITTED, _RETRACTED = "seatunnel.epoch", "seatunnel.committables", "seatunnel.retracted"
_FILES = "seatunnel.files"
_REPLACED = "seatunnel.replaced"

_REPLACE = "replace"
"""Iceberg's operation name for snapshots that rewrite files without changing rows."""


def identity(
    context: SinkContext, *, committed: Mapping[str, int] | None = None, retracted: Sequence[str] = ()
) -> dict[str, str]:
    """Return the properties of a snapshot that this sink creates.

    ``committed`` maps the ID of each committable to its number of files in this table; ``retracted`` are the IDs to
    roll back.
    """
    summary = {
        _JOB: context.job_id,
        _PIPELINE: str(context.pipeline_id),
        _SINK: str(context.sink_ordinal),
        _EPOCH: str(context.epoch),
    }
    if committed:
        summary[_COMMITTED] = ",".join(committed)
        summary[_FILES] = ",".join(map(str, committed.values()))
    if retracted:
        summary[_RETRACTED] = ",".join(retracted)
    return summary


def identity_of(table: "Table") -> str:
    """Return the UUID of a table; empty if its metadata has none, in which case pyiceberg would generate one."""
    return str(table.metadata.table_uuid) if "table_uuid" in table.metadata.model_fields_set else ""


def committed_ids(table: "Table", context: SinkContext, after: int = 0) -> set[str]:
    """Return the IDs of committables that snapshots after the sequence number ``after`` have published."""
    return {each for summary in _own(table, context, after) for each in _listed(summary, _COMMITTED)}


def committed_files(table: "Table", context: SinkContext) -> dict[str, int]:
    """Return the number of files of each published committable, keyed by its ID."""
    found: dict[str, int] = {}
    for summary in _own(table, context):
        ids = _listed(summary, _COMMITTED)
        counts = list(map(int, _listed(summary, _FILES))) or [1] * len(ids)  # older snapshots have one file for each
        found |= dict(zip(ids, counts, strict=True))
    return found


def retracted_ids(table: "Table", context: SinkContext) -> set[str]:
    """Return the IDs of the committables that were rolled back."""
    return {each for summary in _own(table, context) for each in _listed(summary, _RETRACTED)}


def replaced(context: SinkContext) -> dict[str, str]:
    """Return the properties of the snapshot in which the rows of a run replace the existing ones."""
    return {**identity(context), _REPLACED: "true"}


def has_replaced(table: "Table", context: SinkContext) -> bool:
    """Return True if the rows of this sink's run have replaced the existing ones."""
    return any(_REPLACED in summary for summary in _own(table, context))


def newest_epoch(table: "Table", context: SinkContext) -> int:
    """Return the largest epoch in which this sink made a commit, including commits without files; 0 if it made none."""
    return max((int(summary[_EPOCH]) for summary in _own(table, context)), default=0)


def last_number(table: "Table") -> int:
    """Return the largest sequence number of any snapshot so far; 0 in version 1 of the format, which has none."""
    return int(getattr(table.metadata, "last_sequence_number", 0))


def is_cut(table: "Table", after: int = 0) -> bool:
    """Return True if snapshots after a sequence number may have been removed, so that commits are missing.

    In that case, there are fewer snapshots than commits. Version 1 of the format does not count commits, so the result
    is always True.
    """
    return len(_snapshots(table, after)) != last_number(table) - after


def named_files(table: "Table", job_folder: str, after: int = 0) -> set[str]:
    """Return the names of the job's data files in any snapshot after a sequence number; skip older manifests."""
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


def _may_name(manifest: "ManifestFile", known: "dict[int, Snapshot]") -> bool:
    """Return True if a manifest can refer to a file of the job.

    A manifest that was added by another writer's snapshot and lists no existing files refers only to that writer's
    files. Manifests of compactions may list files of the job as deleted.
    """
    added_by = known.get(manifest.added_snapshot_id)
    summary = added_by.summary if added_by is not None else None
    own = summary is not None and (_JOB in summary.additional_properties or summary.operation.value == _REPLACE)
    foreign = added_by is not None and not own
    return not foreign or manifest.has_existing_files()


def live_files(table: "Table", branch: str, chosen: Callable[[str], bool] = lambda _path: True) -> "list[DataFile]":
    """Return the data files in a branch's newest snapshot whose paths ``chosen`` accepts."""
    snapshot = table.snapshot_by_name(branch)
    manifests = snapshot.manifests(table.io) if snapshot is not None else ()
    entries = (entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io))
    return [
        entry.data_file for entry in entries if entry.data_file.content.value == 0 and chosen(entry.data_file.file_path)
    ]


def _snapshots(table: "Table", after: int) -> "list[Snapshot]":
    """Return the snapshots after a sequence number on all branches, and those that a rollback removed from ``main``."""
    every = table.metadata.snapshots
    return [snapshot for snapshot in every if (snapshot.sequence_number or 0) > after] if after else list(every)


def _own(table: "Table", context: SinkContext, after: int = 0) -> Iterator[dict[str, str]]:
    wanted = identity(context)
    del wanted[_EPOCH]
    for snapshot in _snapshots(table, after):
        summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        if all(summary.get(key) == value for key, value in wanted.items()) and summary.get(_EPOCH, "").isdigit():
            yield summary


def _listed(summary: dict[str, str], key: str) -> list[str]:
    return [each for each in summary.get(key, "").split(",") if each]
