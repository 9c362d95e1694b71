"""A stored job of tables, for tests of what a restore decides."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState, VertexStates
from seatunnel_core.claiming.claim import EPOCHS_PER_VERSION, Claim, claim_again, claim_new
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import ChosenCheckpoint, Restore
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.work.committable import Committable
from seatunnel_storage_api.memory import MemoryStorage, MemoryStorageFactory
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState

JOB = "job-1"


FIRST = EPOCHS_PER_VERSION


ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))


def at(*checkpoints: str, **how: Any) -> Restore:
    return Restore(checkpoints=tuple(map(ChosenCheckpoint.parse, checkpoints)), **how)


@define
class Played:
    """A job of tables, each from a FakeSource to a sink, and its storage."""

    folder: Path
    storage: MemoryStorage = field(factory=lambda: MemoryStorageFactory().create({"max-retained": "99"}))

    def text(self, *tables: str, sink: str = "LocalFile", targets: str = "out") -> str:
        sources = "".join(
            f"FakeSource {{ plugin_output = {name}, row.num = 9, schema {{ fields {{ a = int }} }} }}\n"
            for name in tables
        )
        where = {name: f'path = "{self.folder}/{targets}/{name}", file_format_type = csv' for name in tables}
        sinks = "".join(
            f"{sink} {{ plugin_input = {name}, name = {name}_out, {where[name] if sink == 'LocalFile' else ''} }}\n"
            for name in tables
        )
        return f"env {{ job.name = tables }}\nsource {{ {sources} }}\nsink {{ {sinks} }}"

    def planner(self, text: str) -> Any:
        def plan(manifest: Manifest | None) -> PlannedJob:
            problems = Problems()
            raw = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
            return plan_job(raw, lookup, ENGINE, manifest=manifest)

        return plan

    def begin(self, *tables: str) -> Claim:
        claim = claim_new(self.storage, JOB, self.planner(self.text(*tables)))
        for pipeline in claim.job.pipelines:
            self.storage.acquire_epoch(JOB, pipeline.id, FIRST)
        return claim

    def store(
        self,
        checkpoint_id: int,
        rows: int,
        *,
        table: str = "a",
        pipeline: int = 1,
        epoch: int = FIRST,
        kind: CheckpointType = CheckpointType.CHECKPOINT,
        base: CheckpointRef | None = None,
        uncommitted: int = 0,
        retracting: CheckpointRef | None = None,
        memory: Mapping[str, Any] | None = None,
    ) -> CheckpointRef:
        waiting = tuple(
            Committable(id=f"0-{epoch}-{unit}", epoch=epoch, unit=unit, source=table, rows=1, bytes=1, body={})
            for unit in range(1, 1 + uncommitted)
        )
        states = VertexStates(
            sources={table: SourceState(attachment=self.frozen, cursor=rows, total=9, memory=memory)},
            tasks={table: TaskState(next_unit=rows + 1)},
            sinks={f"{table}_out": SinkState(save_mode_pending=False, rows_committed=rows, uncommitted=waiting)},
            retracting=retracting,
        )
        state = PipelineState(
            job_id=JOB, pipeline_id=pipeline, epoch=epoch, checkpoint_id=checkpoint_id, checkpoint_type=kind,
            states=codec.encode(states), base=base,
        )  # fmt: skip
        self.storage.store_checkpoint(state)
        return state.ref

    @property
    def frozen(self) -> str:
        return self.storage.store_attachment(JOB, b"frozen")

    def manifest(self, job_id: str = JOB) -> Manifest:
        stored = self.storage.get_manifest(job_id)
        assert stored is not None
        return Manifest.from_bytes(stored.body)

    def write(self, **changes: Any) -> None:
        stored = self.storage.get_manifest(JOB)
        assert stored is not None
        changed = evolve(Manifest.from_bytes(stored.body), **changes)
        self.storage.put_manifest(JOB, stored.version + 1, changed.to_bytes())

    def savepoint(self, name: str, refs: Mapping[int, CheckpointRef], *, stopped: bool = False) -> None:
        taken = JobSavepoint(name=name, taken_at=1.0, stopped=stopped, pipelines=refs)
        self.write(savepoints=(*self.manifest().savepoints, taken))

    def restore(self, restore: Restore, *tables: str, **text: str) -> Claim:
        claim = claim_again(self.storage, JOB, self.planner(self.text(*(tables or ("a",)), **text)), restore)
        assert isinstance(claim, Claim)
        return claim

    def refusal(self, restore: Restore, *tables: str, **text: str) -> str:
        before = dict(self.storage.blobs) if hasattr(self.storage, "blobs") else self.storage.get_manifest(JOB)
        with pytest.raises(UsageError) as raised:
            self.restore(restore, *tables, **text)
        after = dict(self.storage.blobs) if hasattr(self.storage, "blobs") else self.storage.get_manifest(JOB)
        assert after == before, "refused, and yet something was written"
        return str(raised.value)


def meanwhile(played: Played, monkeypatch: pytest.MonkeyPatch, before: Any = None, after: Any = None) -> None:
    """Act before the next claim of the job, or after it."""
    put = played.storage.put_manifest

    def claim(job_id: str, version: int, body: bytes) -> None:
        monkeypatch.undo()
        if before is not None:
            before()
        put(job_id, version, body)
        if after is not None:
            after()

    monkeypatch.setattr(played.storage, "put_manifest", claim)
