"""User requests to the leader: submit and stop jobs, and query their status and the slots."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import evolve

from seatunnel_core.clock import wall_clock
from seatunnel_core.control.node_client import STOPPING
from seatunnel_core.server.agent.dispatcher import Dispatcher
from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.pending import workers
from seatunnel_core.server.errors import DeposedError, RequestError, StateUnavailableError
from seatunnel_core.server.scheduling.placing import Slots, has_tags, slots_of
from seatunnel_core.server.state.records import DesiredState, JobRecord, JobState

Value = TypeVar("Value")


class UserRequests:
    """Handler of user requests on the leader."""

    def __init__(self, leadership: Leadership, dispatcher: Dispatcher) -> None:
        self._leadership = leadership
        self._dispatcher = dispatcher

    async def submit(self, record: JobRecord) -> JobRecord:
        """Accept a job durably. If the same job is already active and is not being stopped, return it unchanged.

        Clients repeat a request if the response is lost, so submissions with equal text, format and variables are
        treated as the same job. A job that ended before any attempt claimed it can also be restored; it then starts
        from the beginning.

        Raises:
            RequestError: Another job with this ID is active, its record cannot be read, the job is being stopped, it
                has ended and is not to be restored, or this node does not lead.
        """
        state = self._leadership.require_state()

        def put() -> JobRecord:
            if problem := state.problem(record.job_id):
                raise RequestError(
                    f"cannot read the record of job {record.job_id} in the cluster's state: {problem}. Nothing was "
                    "submitted, so that the record is not overwritten; use another job id",
                    status=409,
                    reason="job_id_in_use",
                )
            present = state.job(record.job_id)
            if present is not None:
                _require_same(record, present)
                _require_not_stopping(present)
                return present
            ended = state.ended(record.job_id)
            if ended is not None and not record.restore:
                raise RequestError(
                    f"The job id {record.job_id} has already been submitted and is not starting with a savepoint.",
                    status=500,
                    reason="job_has_ended",
                )
            accepted = evolve(record, fresh=ended is not None and not ended.begun)
            state.put(accepted)
            return accepted

        found = await self._acknowledged(put)
        self._dispatcher.wake()
        return found

    async def want(self, job_id: str, wanted: DesiredState) -> bool:
        """Record the desired state of a job durably. Return True if the job exists and has not ended."""
        state = self._leadership.require_state()

        def put() -> bool:
            present = state.job(job_id)
            if present is None:
                return False
            if present.wanted is not wanted and present.wanted is not DesiredState.CANCEL_AT_ONCE:
                state.put(evolve(present, wanted=wanted, since=wall_clock()))
            return True

        found = await self._acknowledged(put)
        self._dispatcher.wake()
        return found

    async def _acknowledged(self, put: Callable[[], Value]) -> Value:
        try:
            return await self._leadership.change(put)
        except (DeposedError, StateUnavailableError) as error:
            raise RequestError(
                f"it is unknown whether the request was recorded: {error}", status=503, reason="not_acknowledged"
            ) from error

    def metrics_of(self, job: JobRecord) -> dict[str, Any]:
        """Return the latest metrics of a running job, keyed by SeaTunnel's names."""
        hosted = self._dispatcher.hosted(job)
        return {} if hosted is None else dict(hosted.metrics)

    def pipelines_of(self, job: JobRecord) -> list[dict[str, Any]]:
        """Return the status of a running job's pipelines in the format of ``measured_record``."""
        hosted = self._dispatcher.hosted(job)
        return [] if hosted is None else [dict(each) for each in hosted.pipelines]

    def failures_of(self, job: JobRecord) -> list[Mapping[str, Any]]:
        """Return the last failures of a running job's pipelines in the format of ``RecentFailure.record``."""
        hosted = self._dispatcher.hosted(job)
        return [] if hosted is None else list(hosted.failures)

    def workers(self) -> dict[str, Any]:
        """Return the worker nodes. They are not available before the leader's first decision."""
        view = self._dispatcher.view
        at = None if view is None else int(view.now * 1000)
        return {"available": view is not None, "collectedAt": at, "workers": workers(view)}

    def state_of(self, job: JobRecord) -> JobState:
        """Return the state of a job. A stop request and a reported state are newer than the state in the record."""
        if job.wanted is not DesiredState.RUN:
            return JobState.DOING_SAVEPOINT if job.wanted is DesiredState.SAVEPOINT else JobState.CANCELING
        hosted = self._dispatcher.hosted(job)
        return job.state if hosted is None or hosted.state.is_end else hosted.state

    def waits_for(self, job: JobRecord) -> str:
        """Return the reason why a job waits; empty if it has a worker process or the reason is not known yet."""
        return self._dispatcher.reasons.get(job.job_id, "")

    def members_with(self, tags: Mapping[str, str]) -> tuple[int, Slots]:
        """Return the number of members with all given tags, and their slots."""
        view = self._dispatcher.view
        if view is None:
            return 0, Slots(total=0, free=0)
        return sum(has_tags(view, address, tags) for address in view.members), slots_of(view, tags)


def _require_not_stopping(active: JobRecord) -> None:
    """Raise RequestError if a job is being stopped: its submitter would wait for a run that never comes."""
    if active.wanted is not DesiredState.RUN:
        raise RequestError(
            f"job {active.job_id} is being stopped. Nothing was submitted: when the job has ended, restore it",
            status=503,
            reason=STOPPING,
        )


def _require_same(record: JobRecord, active: JobRecord) -> None:
    """Raise RequestError unless a job equals the active job with its ID. The message contains no variables."""
    differing = [name for name in ("text", "format", "variables") if getattr(record, name) != getattr(active, name)]
    if differing:
        raise RequestError(
            f"the job id {active.job_id} is in use: the job {active.name!r} is {active.state.value}, and its "
            f"{' and '.join(differing)} {'differ' if len(differing) > 1 or differing[0] == 'variables' else 'differs'} "
            "from the new submission. Nothing was submitted: use another job id, or stop that job first",
            status=409,
            reason="job_id_in_use",
        )
