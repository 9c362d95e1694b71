"""What hostile bytes are fed to: a job with everything stored that a job stores, and a restore that goes on from it.

Storage, protocol, source and sink are the real ones; the target lies in a sandbox, beside things that belong to others.
"""

import os
import shutil
from pathlib import Path

import pyarrow as pa

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import (
    HeldUnit,
    SinkState,
    SourceState,
    TaskState,
    VertexStates,
)
from seatunnel_core.config.job_file import Kind
from seatunnel_core.connector_api.testing import options_of, plan, stage
from seatunnel_core.connector_api.testing.drive import Skipped, place, sink_place
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.job.manifest import Manifest, Seat
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
from seatunnel_core.reporting.report_record import report_from, report_record
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.runtime.enumeration import freeze, thaw
from seatunnel_core.spark.failure import kind_of
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import FailureKind
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointType, PipelineState
from tests.checkpoint.played import ONE_TO_ONE, Played

OURS = (SeaTunnelError, CheckpointStorageError)
"""What may be raised, whatever the bytes are."""

JOB = "job"
COLUMNS = TableSchema(table="t", columns=pa.schema([("id", pa.int64()), ("city", pa.string())]))
RESTORED_EPOCH = 2


class Victim:
    """A sandbox folder and a storage, both as the job left them when it was killed."""

    def __init__(self, sandbox: Path) -> None:
        self.sandbox = sandbox
        self.root = sandbox / "target"
        self._lay_out_neighbours()
        source = sandbox / "read"
        source.mkdir()
        for number in range(4):
            (source / f"{number}.csv").write_text(f"{number},Rome\n{number + 10},Oslo\n")
        fields = {"fields": {"id": "bigint", "city": "string"}}
        self.source = LocalFileSource(
            options_of(LocalFileSource, {"path": str(source), "file_format_type": "csv", "schema": fields})
        )
        self.sink = LocalFileSink(
            options_of(LocalFileSink, {"path": str(self.root), "file_format_type": "csv", "partition_by": ["city"]})
        )
        self.storage = MemoryStorage()
        self.state = self._stored_job()
        self.info = self.storage.list_checkpoints(JOB, 1)[-1]
        self.manifest_key, self.checkpoint_key, self.attachment_key = self._keys()
        self.originals = dict(self.storage.blobs)
        self._target = _content(self.root)
        self.sink.prepare(sink_place(place(epoch=RESTORED_EPOCH)))
        self._neighbours = _stats(self.root, sandbox / "others")
        self.places = self._places()

    def _lay_out_neighbours(self) -> None:
        """What no committable may reach, and what would lead there."""
        (self.sandbox / "others" / "deeper").mkdir(parents=True)
        (self.sandbox / "others" / "victim").write_text("precious")
        os.mkfifo(self.sandbox / "others" / "pipe")
        other_job = self.root / ".seatunnel" / "other" / "1" / "1"
        other_job.mkdir(parents=True)
        (other_job / "other-p1-s0-o0-e1-u1-a1-0-0.csv").write_text("staged by another job")
        (self.root / "a-persons-own.csv").write_text("mine")
        (self.root / "leads-out").symlink_to(self.sandbox / "others")

    def _stored_job(self) -> PipelineState:
        self.sink.prepare(sink_place(place()))
        found = plan(self.source)
        report = JobReport(
            job_id=JOB,
            name="flights",
            outcome=JobOutcome.FINISHED,
            pipelines=(PipelineView(id=1, name="in -> out", phase="finished", last_checkpoint_id=3),),
            started_at=1.0,
            ended_at=2.5,
        )
        seats = {"in": Seat(1, Kind.SOURCE, 0), "out": Seat(1, Kind.SINK, 0, (str(self.root),))}
        self.storage.put_manifest(
            JOB, 1, Manifest(job_name="flights", seats=seats).closed(report_record(report)).to_bytes()
        )
        self.digest = self.storage.store_attachment(JOB, freeze(found))
        first, second = self._staged(1), self._staged(2)
        units = (
            HeldUnit(unit=WorkUnit(number=2, splits=found.splits[1:2]), committables={"out": second}),
            HeldUnit(unit=WorkUnit(number=3, splits=found.splits[2:3])),
        )
        states = VertexStates(
            sources={"in": SourceState(attachment=self.digest, cursor=3, total=len(found.splits))},
            tasks={"in": TaskState(next_unit=4, units=units, units_done=1, splits_done=1, rows_read=2)},
            sinks={"out": SinkState(save_mode_pending=False, uncommitted=(first,), rows_committed=7)},
        )
        state = PipelineState(
            job_id=JOB,
            pipeline_id=1,
            epoch=self.storage.acquire_epoch(JOB, 1, minimum=1),
            checkpoint_id=3,
            checkpoint_type=CheckpointType.CHECKPOINT,
            base=None,
            states=codec.encode(states),
        )
        self.storage.store_checkpoint(state)
        return state

    def _staged(self, unit: int) -> Committable:
        rows = pa.RecordBatch.from_pydict({"id": [unit, 5], "city": ["Rome", "Oslo"]}, schema=COLUMNS.columns)
        return stage(self.sink, COLUMNS, [rows], place(unit=unit))

    def _keys(self) -> tuple[str, str, str]:
        paths = [path for path in self.storage.blobs if not path.endswith(".epoch")]
        return (
            next(path for path in paths if path.endswith(".manifest")),
            next(path for path in paths if path.endswith(".ckpt")),
            next(path for path in paths if path.endswith(".attachment")),
        )

    def _places(self) -> list[str]:
        names = sorted(path.name for path in self.root.rglob("*.csv"))
        outside = str(self.sandbox / "others")
        links = ["leads-out", "leads-out/deeper", "city=Rome/../../others", "../others", "..", ".", "/", "a//b", "a\0b"]
        devices = [f"{outside}/pipe", "/dev/zero", "/dev/stdin", "/", f"{outside}/victim"]
        staging = [".seatunnel", ".seatunnel/other/1/1", "../other/1/1", f"{self.root}/.seatunnel/other/1/1"]
        lies = [f"{way}/{name}" for way in ("..", "../..", outside, "x/../..") for name in names[:2]]
        return [*names, outside, *links, *devices, *staging, *lies, "city=" + "x" * 300, "\udcff", self.digest, "0-1-1"]

    # -- what is done with mutants --------------------------------------------------------------------------------

    def read(self, key: str, sealed: bytes) -> object:
        """What the storage gives for an object with these bytes."""
        self.storage.blobs[key] = sealed
        try:
            if key == self.checkpoint_key:
                return self.storage.load(self.info)
            if key == self.manifest_key:
                return self.storage.get_manifest(JOB)
            return self.storage.get_attachment(JOB, self.digest)
        finally:
            self.storage.blobs[key] = self.originals[key]

    def restore(self, state: PipelineState) -> None:
        """Go on from a checkpoint as far as its content leads: restore point, commits, sweep, splits, a checkpoint.

        Raises:
            SeaTunnelError, CheckpointStorageError: nothing else.
        """
        played = Played(ONE_TO_ONE, epoch=RESTORED_EPOCH)
        try:
            self._restored(played, state)
        finally:
            self.put_back()

    def _restored(self, played: Played, state: PipelineState) -> None:
        played.deliver(events.Started(now_ms=0))
        played.deliver(events.EpochClaimed(now_ms=0, epoch=RESTORED_EPOCH))
        played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(self.info,), newest_epoch=RESTORED_EPOCH))
        played.deliver(events.CheckpointLoaded(now_ms=0, state=state))
        for end in played.get(commands.EndPipeline):
            raise StateFormatError(end.failure.message if end.failure else "")
        restore_point = played.only(commands.StoreCheckpoint).state
        assert codec.encode(codec.decode(restore_point.states)) == restore_point.states
        played.stored(restore_point.checkpoint_id)
        played.deliver(events.SinksPrepared(now_ms=0))
        here = sink_place(place(epoch=RESTORED_EPOCH))
        while asked := played.get(commands.Commit):
            self.sink.commit(asked[0].committables, here, may_be_committed=asked[0].may_be_committed)
            played.committed()
        self.sink.sweep(here, played.only(commands.Sweep).keep, final=False)
        played.deliver(events.Swept(now_ms=0, removed=0))
        attachment = played.only(commands.Enumerate).attachment
        found = thaw(self.storage.get_attachment(JOB, attachment)) if attachment else plan(self.source)
        played.deliver(
            events.Enumerated(now_ms=0, source="in", splits=found.splits, attachment=attachment or self.digest)
        )
        self._run_units(played)
        played.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
        for stored in played.get(commands.StoreCheckpoint):  # none while the final checkpoint is under way
            codec.decode(stored.state.states)

    def _run_units(self, played: Played) -> None:
        """Read what the units name. An error that says whose fault it is, is an answer; one of ours is enough."""
        for order in played.get(commands.RunUnit):
            for split in order.attempt.unit.splits:
                try:
                    for batch in self.source.read(split, Skipped()):
                        assert batch.rows.num_rows <= 4
                except Exception as error:
                    if kind_of(error) is FailureKind.BUG:
                        raise

    # -- what must not have happened ------------------------------------------------------------------------------

    def put_back(self) -> None:
        """See that only this sink's own files moved, and put them back."""
        assert _stats(self.root, self.sandbox / "others") == self._neighbours, "something of others was touched"
        if _content(self.root) == self._target:
            return
        published = {path for path in _content(self.root) if not path.startswith(".seatunnel/")}
        assert all(path.startswith(("city=Rome/job-", "city=Oslo/job-")) or _is_own(path) for path in published)
        for path in _content(self.root):
            (self.root / path).unlink()
        for path, content in self._target.items():
            (self.root / path).write_bytes(content)
        for entry in os.scandir(self.root):
            if entry.is_dir(follow_symlinks=False) and entry.name != ".seatunnel":
                shutil.rmtree(entry.path)


def _is_own(path: str) -> bool:
    """A forged folder below the target is the sink's own affair, as long as the file is one that it staged."""
    return os.path.basename(path).startswith("job-p1-s0-o0-e1-u")


def _is_neighbour(path: str) -> bool:
    return path.startswith(("a-persons-own", ".seatunnel/other/"))


def _content(root: Path) -> dict[str, bytes]:
    """The sink's own files: staged and published."""
    found: dict[str, bytes] = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if not _is_neighbour(path) and not os.path.islink(os.path.join(root, path)):
                found[path] = Path(root, path).read_bytes()
    return found


def _stats(root: Path, *more: Path) -> dict[str, tuple[int, int, int]]:
    """Everything that is not the sink's."""
    found: dict[str, tuple[int, int, int]] = {}
    for start in (root, *more):
        for folder, folders, names in os.walk(start):
            for name in [*names, *(folders if start != root else ())]:
                path = os.path.join(folder, name)
                if start != root or _is_neighbour(os.path.relpath(path, root)) or os.path.islink(path):
                    status = os.lstat(path)
                    found[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def look_into_manifest(body: bytes) -> None:
    """What a resume does with a manifest, and the closing table in it."""
    manifest = Manifest.from_bytes(body)
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    if manifest.ended is not None:
        report = report_from(JOB, manifest.ended)
        assert report_from(JOB, report_record(report)) == report


def look_into_enumeration(body: bytes, source: LocalFileSource) -> None:
    """What a resume does with a frozen enumeration: its splits are read."""
    found = thaw(body)
    assert thaw(freeze(found)) == found
    for split in found.splits[:2]:
        try:
            for _ in source.read(split, Skipped()):
                pass
        except Exception as error:
            if kind_of(error) is FailureKind.BUG:
                raise
