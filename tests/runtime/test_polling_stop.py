"""A poll whose error ends the pipeline with a final checkpoint."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from attrs import define, field

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.checkpoint import commands, events
from seatunnel_core.errors import SourceChangedError, SourceError
from seatunnel_core.runtime.polling import SourcePolling
from seatunnel_core.spark.failure import failure_of

POLL = commands.Poll(source="in", memory={}, next_index=0)


@define
class Failing:
    """Sources whose polls fail."""

    error: Exception

    def poll(self, source: str, cursor: Any, facts: Any, rereads: Any) -> Any:
        raise self.error


@define
class Pools:
    connector_pool: ThreadPoolExecutor
    inbox: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.inbox = self

    def put(self, action: Any) -> None:
        action()


@define
class Silent:
    def warned(self, source: str, warnings: Any) -> None:
        pass


def polled(error: Exception) -> tuple[SourcePolling, events.Event]:
    """Return the polling after a poll with an error, and the event that it caused."""
    told: list[events.Event] = []
    with ThreadPoolExecutor(1) as pool:
        polling = SourcePolling(
            Failing(error),  # type: ignore[arg-type]
            Pools(pool),  # type: ignore[arg-type]
            Silent(),  # type: ignore[arg-type]
            lambda event_at: told.append(event_at(1)),
            lambda action: action(),
        )
        polling.poll(POLL)
    (event,) = told
    return polling, event


def test_an_error_that_stops_cleanly_requests_a_stop_and_is_the_failure_at_its_end() -> None:
    polling, event = polled(ColumnsChangedError("a column was added"))
    assert isinstance(event, events.StopRequested)
    end = polling.end(commands.EndPipeline(outcome=commands.Outcome.STOPPED))
    assert end.outcome is commands.Outcome.FAILED
    assert end.failure is not None
    assert (end.failure.code, end.failure.message) == ("COLUMNS-CHANGED", "a column was added")
    fenced = commands.EndPipeline(outcome=commands.Outcome.FENCED)
    assert polling.end(fenced) is fenced


def test_a_failed_last_checkpoint_is_in_the_message() -> None:
    polling, _ = polled(ColumnsChangedError("a column was added"))
    failed = failure_of(SourceError("the storage is full"))
    end = polling.end(commands.EndPipeline(outcome=commands.Outcome.STOPPED, failure=failed))
    assert end.failure is not None
    said = "a column was added. The last checkpoint failed, so resume the job first: the storage is full"
    assert (end.failure.code, end.failure.message) == ("COLUMNS-CHANGED", said)


@pytest.mark.parametrize("error", [SourceChangedError("changed"), SourceError("broken")])
def test_other_errors_fail_the_poll(error: Exception) -> None:
    polling, event = polled(error)
    assert isinstance(event, events.PollFailed)
    stopped = commands.EndPipeline(outcome=commands.Outcome.STOPPED)
    assert polling.end(stopped) is stopped
