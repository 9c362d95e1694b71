"""REST responses about pending jobs and slots in SeaTunnel's format, as pure functions of the leader's view."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from seatunnel_core.clock import wall_clock
from seatunnel_core.config.job_file import Kind
from seatunnel_core.reporting.rest_text import moment
from seatunnel_core.server.description import Description
from seatunnel_core.server.scheduling.placing import Slots, slots_of
from seatunnel_core.server.scheduling.view import View
from seatunnel_core.server.state.records import SHARED, JobRecord, Requirements

MOST_DIAGNOSED = 100
"""Maximum number of slots that are listed for a pipeline. Counts include all slots."""


def pending_jobs(
    view: View | None,
    waiting: Sequence[JobRecord],
    reasons: Mapping[str, str],
    *,
    waits: bool,
    job_id: str,
    limit: int,
    pretty: bool,
) -> dict[str, Any]:
    """Return the queue of jobs without a worker process: the first ``limit`` jobs, or only ``job_id`` if it is set."""
    shown = [job for job in waiting if job.job_id == job_id] if job_id else list(waiting[:limit])
    lacking = sum(_requirements(view, job).slots for job in shown)

    def at(seconds: float) -> int | str:
        return moment(seconds) if pretty else int(seconds * 1000)

    since = [job.submitted_at for job in waiting]
    times = {"oldestEnqueueTimestamp": at(min(since)), "newestEnqueueTimestamp": at(max(since))} if since else {}
    strategy = "WAIT" if waits else "REJECT"
    return {
        "queueSummary": {"size": len(waiting), "scheduleStrategy": strategy, "lackingTaskGroups": lacking, **times},
        "clusterSnapshot": _snapshot(view),
        "pendingJobs": [_pending(view, job, reasons.get(job.job_id, ""), at) for job in shown],
    }


def _requirements(view: View | None, job: JobRecord) -> Requirements:
    return Requirements() if view is None else view.requirements_of(job.job_id)


def _pending(view: View | None, job: JobRecord, reason: str, at: Any) -> dict[str, Any]:
    now, requirements = wall_clock(), _requirements(view, job)
    counted = view is not None and slots_of(view, requirements.tags).total > 0
    holders = [] if view is None or not counted else [other.job_id for other in view.jobs.values() if other.host]
    failure = {"failureReason": "WAITING" if reason else "NOT_CHECKED", "failureMessage": reason}
    pipelines = [] if view is None else list(_pipelines(view, job, failure))
    lacking = [each for pipeline in pipelines for each in pipeline["taskGroupDiagnostics"]]
    return {
        "jobId": job.job_id,
        "jobName": job.name,
        "pendingSourceState": "RESTORE" if job.attempt else "SUBMIT",
        "jobStatus": job.state.value,
        "enqueueTimestamp": at(job.submitted_at),
        "checkTime": at(now),
        "waitDurationMs": max(0, int((now - job.since) * 1000)),
        "totalTaskGroups": requirements.slots,
        "allocatedTaskGroups": 0,
        "lackingTaskGroups": requirements.slots,
        **failure,
        "tagFilter": dict(requirements.tags),
        "blockingJobIds": holders if reason else [],
        "pipelines": pipelines,
        "lackingTaskGroupDiagnostics": lacking,
    }


def _pipelines(view: View, job: JobRecord, failure: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the pipelines of a waiting job with its slots, which are all unassigned."""
    described = view.descriptions.get(job.job_id, Description())
    sources = [each for each in described.vertices if each["type"] == Kind.SOURCE.value]
    readers = {
        each["vertexId"]: count for each, count in zip(sources, view.requirements_of(job.job_id).readers, strict=False)
    }
    names = {each["vertexId"]: each["vertexName"] for each in sources}
    for number, edges in described.edges.items():
        read = sorted({edge["inputVertexId"] for edge in edges} & set(readers))
        slots = sum(1 + readers[each] for each in read)
        titles = islice(
            (title for each in read for title in _titles(number, names[each], readers[each])), MOST_DIAGNOSED
        )
        where = {"jobId": job.job_id, "pipelineId": int(number)}
        yield {
            "pipelineId": int(number),
            "pipelineName": f"Job {job.name}, Pipeline: [({number}/{len(described.edges)})]",
            "totalTaskGroups": slots,
            "allocatedTaskGroups": 0,
            "lackingTaskGroups": slots,
            "taskGroupDiagnostics": [
                {
                    "taskGroupLocation": {**where, "taskGroupId": group},
                    "taskFullName": title,
                    "allocated": False,
                    **failure,
                }
                for group, title in enumerate(titles, 1)
            ],
        }


def _titles(pipeline: str, source: str, readers: int) -> Iterator[str]:
    """Yield the purposes of a source's slots: one for planning, the others for reading."""
    named = f"pipeline-{pipeline} [{source}]"
    yield f"{named}-SplitEnumerator (1/1)"
    for reader in range(1, readers + 1):
        yield f"{named}-SourceTask ({reader}/{readers})"


def _snapshot(view: View | None) -> dict[str, Any]:
    slots = Slots(total=0, free=0) if view is None else slots_of(view, {})
    found = workers(view)
    free = max(0, slots.free)
    return {
        "totalSlots": slots.total,
        "freeSlots": free,
        "assignedSlots": max(0, slots.total - free),
        "workerCount": len(found),
        "workers": found,
    }


def workers(view: View | None) -> list[dict[str, Any]]:
    """Return the worker nodes. Their free slots are derived from the free slots of the whole cluster."""
    if view is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    for address, member in view.members.items():
        report = None if member.lost else member.report
        if report is None:
            continue
        jobs = [job for job in view.jobs.values() if job.host == address]
        if report.workers:
            free = max(0, slots_of(view, {}).free)
            for worker, total in report.workers.items():
                dynamic = not report.offered
                known = found.setdefault(worker, _worker(worker, {}, total, min(total, free), dynamic=dynamic))
                known["runningJobIds"] += [job.job_id for job in jobs]
        elif report.moves_rows and report.host(SHARED) is not None:
            held = sum(view.requirements_of(job.job_id).slots for job in jobs)
            free = max(0, report.offered - held)
            found[address] = _worker(address, report.tags, report.offered, free, dynamic=not report.offered)
            found[address]["runningJobIds"] = [job.job_id for job in jobs]
    return list(found.values())


def _worker(address: str, tags: Mapping[str, str], total: int, free: int, *, dynamic: bool) -> dict[str, Any]:
    counted = (0, 0) if dynamic else (total, free)
    return {
        "address": address,
        "tags": dict(tags),
        "totalSlots": counted[0],
        "freeSlots": counted[1],
        "dynamicSlot": dynamic,
        "runningJobIds": [],
    }
