"""What the dispatcher measures for its decisions."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.server.agent import dispatcher
from seatunnel_core.server.state.records import DesiredState
from tests.server.scheduling.views import RUNNING
from tests.server.test_rest import JOB, config_of, leading


def test_a_cancellation_after_a_savepoint_is_new_and_not_as_old_as_the_savepoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A savepoint may take its time. A job that was cancelled during one was late at once, so that its worker process
    was killed, with all its other jobs."""
    agent = leading(tmp_path, config_of(tmp_path))
    members: Any = SimpleNamespace(view=lambda _: {})
    state, clock = agent.require_state(), SimpleNamespace()
    monkeypatch.setattr(dispatcher, "time", clock)

    def stopping_s(now: float, wanted: DesiredState) -> float:
        state.put(evolve(RUNNING, text=JOB, format="json", wanted=wanted))
        clock.monotonic = lambda: now
        return agent.dispatcher._view_of(state, members).stopping_s.get("1", 0.0)

    assert stopping_s(0.0, DesiredState.RUN) == 0.0
    assert stopping_s(10.0, DesiredState.SAVEPOINT) == 0.0
    assert stopping_s(50.0, DesiredState.CANCEL) == 0.0
    assert stopping_s(60.0, DesiredState.CANCEL) == 10.0
    assert stopping_s(65.0, DesiredState.CANCEL_AT_ONCE) == 15.0, "it has been cancelled for that long"
