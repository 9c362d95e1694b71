"""Namespaces as engines leave them, put together from the protocol's own states, and what stands in their targets."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.enumeration import FORMAT_VERSION
from seatunnel_core.checkpoint.state.vertex_state import (
    HeldUnit,
    SinkState,
    SourceState,
    TaskState,
    VertexStates,
)
from seatunnel_core.config.job_file import Kind
from seatunnel_core.connectors.filesystems.staged_name import staging_folder
from seatunnel_core.job.manifest import Manifest, Seat
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.layout import checkpoint_key
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState

JOB = "job-1"
SPLITS = 10


def local(folder: Path, retained: int = 3) -> BlobStorage:
    found = open_storage("hdfs", {"storage.type": "local", "namespace": f"{folder}/", "max-retained": str(retained)})
    assert isinstance(found, BlobStorage)
    return found


def split(index: int) -> Split:
    return Split(
        index=index,
        weight_bytes=100,
        rows=5,
        body={"path": "/in/a.csv", "start": index * 100, "end": index * 100 + 100},
    )


def file_name(job_id: str, pipeline: int, epoch: int, unit: int) -> str:
    return f"{job_id}-p{pipeline}-s0-o0-e{epoch}-u{unit}-a1-7-0.parquet"


@define
class Made:
    """A job of some pipelines, each ``flights -> out``, on one storage."""

    storage: BlobStorage
    target: Path
    job_id: str = JOB
    pipelines: Sequence[int] = (1,)
    attachments: dict[int, str] = field(factory=dict)

    def begin(self, version: int = 1, ended: Mapping[str, Any] | None = None) -> None:
        """The manifest's next version, and each source's enumeration."""
        seats = {}
        for number in self.pipelines:
            seats[f"flights{number}"] = Seat(number, Kind.SOURCE, 0)
            seats[f"out{number}"] = Seat(number, Kind.SINK, 0, (str(self.target),))
            self.attachments[number] = self.storage.store_attachment(self.job_id, enumeration(f"/in/{number}.csv"))
        manifest = Manifest(job_name="nightly", seats=seats, ended=ended)
        self.storage.put_manifest(self.job_id, version, manifest.to_bytes())

    def end(self, version: int = 9) -> None:
        self.begin(version, {"outcome": "finished", "ended_at": 1_700_000_000.0, "pipelines": []})

    def claim(self, epoch: int, pipeline: int = 1) -> None:
        assert self.storage.acquire_epoch(self.job_id, pipeline, epoch) == epoch

    def states(
        self,
        *,
        pipeline: int = 1,
        emitted: int = 0,
        uncommitted: Sequence[tuple[int, int]] = (),
        held: Sequence[tuple[int, int]] = (),
        running: Sequence[int] = (),
        enumerated: bool = True,
    ) -> VertexStates:
        """``uncommitted`` and ``held`` are (epoch, unit), ``running`` units."""
        units = [HeldUnit(unit=WorkUnit(number=unit, splits=(split(unit),))) for unit in running]
        units += [
            HeldUnit(
                unit=WorkUnit(number=unit, splits=(split(unit),)),
                committables={f"out{pipeline}": self.committable(epoch, unit, pipeline)},
            )
            for epoch, unit in held
        ]
        source = SourceState(attachment=self.attachments[pipeline], cursor=emitted, total=SPLITS)
        units.sort(key=lambda each: each.unit.number)
        return VertexStates(
            sources={f"flights{pipeline}": source if enumerated else SourceState()},
            tasks={f"flights{pipeline}": TaskState(next_unit=20, units=tuple(units), units_done=emitted)},
            sinks={
                f"out{pipeline}": SinkState(
                    save_mode_pending=False,
                    uncommitted=tuple(self.committable(*each, pipeline) for each in uncommitted),
                    rows_committed=emitted * 5,
                )
            },
        )

    def committable(self, epoch: int, unit: int, pipeline: int = 1) -> Committable:
        return Committable(
            id=f"0-{epoch}-{unit}",
            epoch=epoch,
            unit=unit,
            source=f"flights{pipeline}",
            rows=5,
            bytes=100,
            body={"files": [[file_name(self.job_id, pipeline, epoch, unit), "day=1"]]},
        )

    def store(
        self,
        epoch: int,
        checkpoint_id: int,
        states: VertexStates | None = None,
        *,
        pipeline: int = 1,
        base: tuple[int, int] | None = None,
        kind: CheckpointType = CheckpointType.CHECKPOINT,
    ) -> CheckpointInfo:
        """Store a checkpoint as an engine does, retention included."""
        state = self.state(epoch, checkpoint_id, states, pipeline=pipeline, base=base, kind=kind)
        self.storage.store_checkpoint(state)
        return next(info for info in self.storage.list_checkpoints(self.job_id, pipeline) if info.ref == state.ref)

    def state(
        self,
        epoch: int,
        checkpoint_id: int,
        states: VertexStates | None = None,
        *,
        pipeline: int = 1,
        base: tuple[int, int] | None = None,
        kind: CheckpointType = CheckpointType.CHECKPOINT,
    ) -> PipelineState:
        return PipelineState(
            job_id=self.job_id,
            pipeline_id=pipeline,
            epoch=epoch,
            checkpoint_id=checkpoint_id,
            checkpoint_type=kind,
            states=codec.encode(states or self.states(pipeline=pipeline)),
            base=None if base is None else CheckpointRef(*base),
        )

    def stage(self, epoch: int, unit: int, pipeline: int = 1) -> Path:
        """A file of 100 bytes in the staging folder."""
        folder = Path(staging_folder(str(self.target), self.job_id, pipeline, epoch))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(self.job_id, pipeline, epoch, unit)
        path.write_bytes(b"x" * 100)
        return path

    def damage(self, info: CheckpointInfo) -> Path:
        """Flip a byte in the middle of a stored checkpoint."""
        path = self.path(info)
        sealed = bytearray(path.read_bytes())
        sealed[len(sealed) // 2] ^= 1
        path.write_bytes(sealed)
        return path

    def path(self, info: CheckpointInfo) -> Path:
        return Path(self.storage.locate(checkpoint_key(info)))


def enumeration(path: str) -> bytes:
    splits = [[100, 5, {"path": path, "start": index * 100, "end": index * 100 + 100}] for index in range(SPLITS)]
    return json.dumps({"version": FORMAT_VERSION, "schemas": [], "splits": splits}).encode()


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        os.path.relpath(os.path.join(where, name), folder): Path(where, name).read_bytes()
        for where, _, names in os.walk(folder)
        for name in names
    }
