"""When a checkpoint is triggered, as a table."""

from typing import Any

import pytest

from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy, Decision, Situation, decide

NOW = 10_000
YES = Decision(trigger=True)
NO = Decision(trigger=False)


def later(at_ms: int) -> Decision:
    return Decision(trigger=False, look_again_ms=at_ms)


@pytest.mark.parametrize(
    ("policy", "situation", "expected"),
    [
        # The interval counts from the last trigger.
        ({"interval_ms": 1_000}, {"last_trigger_ms": 9_000}, YES),
        ({"interval_ms": 1_000}, {"last_trigger_ms": 9_001}, later(10_001)),
        ({"interval_ms": None}, {}, NO),
        # Who asks does not wait for the interval.
        ({"interval_ms": None}, {"asked": True}, YES),
        ({"interval_ms": 1_000}, {"last_trigger_ms": NOW, "asked": True}, YES),
        # The pause counts from the last end, for those who ask too.
        ({"interval_ms": 1_000, "min_pause_ms": 500}, {"last_trigger_ms": 9_000, "last_end_ms": 9_600}, later(10_100)),
        ({"interval_ms": 1_000, "min_pause_ms": 500}, {"last_trigger_ms": 9_000, "last_end_ms": 9_500}, YES),
        ({"interval_ms": None, "min_pause_ms": 500}, {"asked": True, "last_end_ms": 9_600}, later(10_100)),
        # As many at once as the policy says, whoever asks.
        ({"interval_ms": 1_000, "max_concurrent": 2}, {"last_trigger_ms": 0, "pending": 1}, YES),
        ({"interval_ms": 1_000, "max_concurrent": 2}, {"last_trigger_ms": 0, "pending": 2}, NO),
        ({"interval_ms": None}, {"asked": True, "pending": 1}, NO),
        ({"interval_ms": None}, {"final": True, "pending": 1}, NO),
        # The final one waits neither for interval nor pause.
        ({"interval_ms": None}, {"final": True}, YES),
        ({"interval_ms": 1_000, "min_pause_ms": 500}, {"final": True, "last_end_ms": 9_999}, YES),
        # After a failure there is always some pause.
        ({"interval_ms": None}, {"final": True, "last_end_ms": 9_500, "last_failed": True}, later(10_500)),
        ({"interval_ms": None, "min_pause_ms": 3_000}, {"asked": True, "last_end_ms": 9_000, "last_failed": True},
         later(12_000)),
    ],
)  # fmt: skip
def test_decide(policy: dict[str, Any], situation: dict[str, Any], expected: Decision) -> None:
    facts = {"now_ms": NOW, "pending": 0, "last_trigger_ms": 0, "last_end_ms": None, **situation}
    assert decide(CheckpointPolicy(**policy), Situation(**facts)) == expected
