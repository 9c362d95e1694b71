"""What a host says of a Spark that does not start."""

import logging
from typing import Any, cast

import pytest

from seatunnel_core.server.host.warm_spark import START_S, WarmSpark
from tests.server.nodes import until


class Backend:
    """Starts, and fails when it is to become warm."""

    application = ""

    def __init__(self, *, lives: bool) -> None:
        self._lives = lives

    def start(self) -> None:
        pass

    def executors(self) -> frozenset[str]:
        return frozenset()

    def warm(self) -> None:
        raise RuntimeError("Answer from Java side is empty")

    def is_alive(self) -> bool:
        return self._lives


@pytest.mark.parametrize(
    ("lives", "failure"),
    [(True, "Answer from Java side is empty"), (False, "the JVM of Spark ended while starting")],
)
def test_a_jvm_that_ends_while_it_starts_is_no_bug(lives: bool, failure: str, caplog: pytest.LogCaptureFixture) -> None:
    """One that was killed then was logged with a traceback, as a bug of ours."""
    spark = WarmSpark(cast(Any, Backend(lives=lives)), 2)
    with caplog.at_level(logging.ERROR, "seatunnel.cluster"):
        spark.start()
        until("it has failed", lambda: spark.failure, wait_s=60)
    assert failure in spark.failure
    assert ("internal error" in caplog.text) == lives


def test_a_jvm_that_hangs_while_it_starts_is_a_failure_after_a_while() -> None:
    """The host waited for it forever, and its node had no slots."""
    now = [0.0]
    hanging = WarmSpark(cast(Any, Backend(lives=False)), 2, clock=lambda: now[0])
    waiting = WarmSpark(cast(Any, Backend(lives=True)), 2, clock=lambda: now[0])  # for an executor
    for after_s, failure in ((START_S, ""), (START_S + 1, "the JVM of Spark did not start within 300 s")):
        now[0] = after_s
        assert hanging.probe().slots == waiting.probe().slots == 0
        assert hanging.failure == failure
    assert waiting.failure == ""
