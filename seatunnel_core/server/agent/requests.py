"""What users ask of the leader: to take a job, to stop one, how one stands, how many slots there are."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import evolve

from seatunnel_core.clock import wall_clock
from seatunnel_core.server.agent.dispatcher import Dispatcher
from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.pending import workers
from seatunnel_core.server.description import Description
from seatunnel_core.server.errors import DeposedError, RequestError, StateUnavailableError
from seatunnel_core.server.scheduling.placing import Slots, has_tags, slots_of
from seatunnel_core.server.state.records import DesiredState, JobRecord, JobState

Value = TypeVar("Value")


class UserRequests:
    """Answers users, of a node that leads.

    Args:
        leadership: of the node.
        dispatcher: of the node.
    """

    def __init__(self, leadership: Leadership, dispatcher: Dispatcher) -> None:
        self._leadership = leadership
        self._dispatcher = dispatcher

    async def submit(self, record: JobRecord) -> JobRecord:
        """Accept a job; when this returns, it is durable. If the same job is active already, return it as it is.

        Two submissions are the same job if text, format and variables are equal: a client repeats a request whose
        answer was lost. A job that ended before any attempt claimed it may be restored too, and starts from nothing.

        Raises:
            RequestError: another job is active under its id, or a record under its id cannot be read, or the job has
                ended and is not to be restored; or this node does not lead.
        """
        state = self._leadership.require_state()

        def put() -> JobRecord:
            if problem := state.problem(record.job_id):
                raise RequestError(
                    f"the record of the job {record.job_id} in the cluster's state cannot be read: {problem}. Nothing "
                    "was submitted, so that it is not overwritten; another job id is free",
                    status=409,
                    reason="job_id_in_use",
                )
            present = state.job(record.job_id)
            if present is not None:
                _require_same(record, present)
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
        """Record what users want of a job, durably; return whether there is such a job that has not ended."""
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
                f"it is not known whether this was recorded: {error}", status=503, reason="not_acknowledged"
            ) from error

    def metrics_of(self, job: JobRecord) -> dict[str, Any]:
        """Return the last figures of a running job, by SeaTunnel's names."""
        hosted = self._dispatcher.hosted(job)
        return {} if hosted is None else dict(hosted.metrics)

    def pipelines_of(self, job: JobRecord) -> list[dict[str, Any]]:
        """Return how the pipelines of a running job stand, as ``measured_record`` writes them."""
        hosted = self._dispatcher.hosted(job)
        return [] if hosted is None else [dict(each) for each in hosted.pipelines]

    def failures_of(self, job: JobRecord) -> list[Mapping[str, Any]]:
        """Return the last failures of a running job's pipelines, as ``RecentFailure.record`` writes them."""
        hosted = self._dispatcher.hosted(job)
        return [] if hosted is None else list(hosted.failures)

    def description(self, job: JobRecord) -> Description:
        """Return what the text of a running job says of it."""
        return self._dispatcher.description(job)

    def workers(self) -> dict[str, Any]:
        """Return the nodes on which rows move; none are available until the leader has decided something."""
        view = self._dispatcher.view
        at = None if view is None else int(view.now * 1000)
        return {"available": view is not None, "collectedAt": at, "workers": workers(view)}

    def state_of(self, job: JobRecord) -> JobState:
        """Return the state of a job, as its host reports it if that is newer than the record."""
        hosted = self._dispatcher.hosted(job)
        return job.state if hosted is None or hosted.state.is_end else hosted.state

    def waits_for(self, job: JobRecord) -> str:
        """Return what a job without a host waits for; empty when it has one, or that is not known yet."""
        return self._dispatcher.reasons.get(job.job_id, "")

    def members_with(self, tags: Mapping[str, str]) -> tuple[int, Slots]:
        """Return how many members have some tags, and their slots."""
        view = self._dispatcher.view
        if view is None:
            return 0, Slots(total=0, free=0)
        return sum(has_tags(view, address, tags) for address in view.members), slots_of(view, tags)


def _require_same(record: JobRecord, active: JobRecord) -> None:
    """Raise if a job differs from the active one of its id.

    Raises:
        RequestError: It does; the message names what differs, and contains no value of a variable.
    """
    differing = [name for name in ("text", "format", "variables") if getattr(record, name) != getattr(active, name)]
    if differing:
        raise RequestError(
            f"the job id {active.job_id} is in use: the job {active.name!r} is {active.state.value}, and its "
            f"{' and '.join(differing)} {'differ' if len(differing) > 1 or differing[0] == 'variables' else 'differs'} "
            "from what was submitted now. Nothing was submitted: write another job id, or stop that job first",
            status=409,
            reason="job_id_in_use",
        )
