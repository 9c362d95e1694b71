"""``seatunnel slots``: shows the replication slots of a job's sources, and removes them."""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.cli.command import DONE
from seatunnel_core.cli.slots.arguments import SlotsArguments
from seatunnel_core.cli.terminal.text import table
from seatunnel_core.config.engine import StorageConfig, load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.capabilities import SupportsReplicationSlot
from seatunnel_core.connector_api.replication_slot import ReplicationSlot
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.content import loaded
from seatunnel_core.inspector.survey import JobState, JobSurvey, survey
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.quantity import count
from seatunnel_core.registry import lookup
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.storage import CheckpointStorage


@frozen(kw_only=True)
class _SourceSlot:
    """A source and its slot."""

    name: str
    source: SupportsReplicationSlot
    slot: ReplicationSlot


def slots(arguments: SlotsArguments) -> int:
    """Run a verb, print its result, and return the exit code."""
    raw = load_job(arguments.config, Variables(arguments.variables))
    job = plan_job(raw, lookup, load_engine(arguments.engine_config), reads_input=False)
    sources = [(each.name, each.source) for pipeline in job.pipelines for each in pipeline.sources]
    found = [
        _SourceSlot(name=name, source=source, slot=slot)
        for name, source in sources
        if isinstance(source, SupportsReplicationSlot) and (slot := source.replication_slot()) is not None
    ]
    if not found:
        raise UsageError(f"{arguments.config}: the job has no source that reads a replication slot")
    if arguments.verb == "list":
        print(_table(found))
        return DONE
    chosen = [each for each in found if arguments.name in (None, each.slot.name)]
    if not chosen:
        known = ", ".join(each.slot.name for each in found)
        raise UsageError(f"{arguments.config}: no source of the job reads the slot {arguments.name}; it reads {known}")
    for each in chosen:
        _require_unused(each.slot)
        if not arguments.force:
            _require_droppable(each, job.storage)
    for each in chosen:
        for sentence in each.source.drop_slot():
            print(sentence, flush=True)
    return DONE


def _table(found: Sequence[_SourceSlot]) -> str:
    rows: list[tuple[str, ...]] = [
        ("source", "slot", "use", "restart position", "retained bytes", "WAL status", "publication", "created here")
    ]
    rows += [(each.name, *_cells(each.slot)) for each in found]
    return table(rows, right=(4,), indent="")


def _cells(slot: ReplicationSlot) -> tuple[str, ...]:
    used = slot.used_by or ("not in use" if slot.exists else "does not exist")
    retained = "-" if slot.retained_bytes is None else count(slot.retained_bytes)
    created = ["slot"] * slot.is_created + ["publication"] * slot.is_publication_created
    publication = slot.publication if slot.has_publication else "does not exist"
    described = (slot.name, used, slot.restart or "-", retained, slot.wal_status or "-", publication)
    return (*described, ", ".join(created) or "-")


def _require_unused(slot: ReplicationSlot) -> None:
    if slot.used_by is not None:
        raise UsageError(f"the replication slot {slot.name} is used by {slot.used_by}: stop the job first")


def _require_droppable(found: _SourceSlot, storage: StorageConfig) -> None:
    slot = found.slot
    if slot.exists and not slot.is_created:
        raise UsageError(
            f"the replication slot {slot.name} was not dropped, because the server has no record that the engine "
            "created it; add --force if nothing else reads it"
        )
    if not slot.exists:
        return
    with open_storage(storage.type, storage.effective, read_only=True) as opened:
        jobs = survey(opened)
        needing = next(_jobs_with(found.source, jobs, opened), None)
    if needing is not None:
        raise UsageError(
            f"the replication slot {slot.name} was not dropped, because the job {needing} can be resumed from its "
            f"latest checkpoint, which needs the slot. Resume the job with -r {needing}; or add --force, and start "
            "a new job afterwards"
        )
    if slot.job_id is None:
        raise UsageError(
            f"the replication slot {slot.name} was not dropped, because the server has no record of the job that uses "
            "it, so its checkpoints may be in another storage; add --force if no job needs the slot"
        )
    if slot.job_id not in {job.job_id for job in jobs}:
        raise UsageError(
            f"the replication slot {slot.name} was not dropped, because its job {slot.job_id} is not in the checkpoint "
            "storage of this job file, and may need it: specify the storage of that job with --engine-config, or add "
            "--force if no job needs the slot"
        )


def _jobs_with(source: SupportsReplicationSlot, jobs: Iterable[JobSurvey], storage: CheckpointStorage) -> Iterator[str]:
    """Yield the IDs of stored jobs that need the slot of a source, according to their latest checkpoint."""
    for job in jobs:
        if job.state is not JobState.OPEN:
            continue
        for pipeline in job.pipelines.values():
            if pipeline.latest is None:
                continue
            states = codec.decode(loaded(storage, pipeline.latest).states)
            if any(source.needs_slot(each.memory) for each in states.sources.values() if each.memory):
                yield job.job_id
                break
