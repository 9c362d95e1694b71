"""An engine that lost its job while it slept: how tests wait for it and judge it."""

import time
from collections.abc import Callable

from tests.torture.process import Engine

PATIENCE_S = 240
"""A process that has not ended by then hangs; a busy machine is much slower than this one."""


def until(condition: Callable[[], object], *engines: Engine) -> None:
    """Wait until it holds. An engine that ends before is a failure."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        for engine in engines:
            assert engine.exit_code is None, engine.output
        assert time.monotonic() < deadline, "\n".join(engine.output for engine in engines)
        time.sleep(0.005)


def ends_as_zombie(engine: Engine) -> None:
    """It has to notice, to say so, and to leave nothing running."""
    assert engine.wait(PATIENCE_S) == 1, engine.output
    assert "another engine" in engine.output, engine.output
    assert "Another process runs this job since" in engine.output
    assert "Traceback" not in engine.output
    assert "a bug of the engine" not in engine.output
    assert not engine.left_over()


def show(title: str, engine: Engine) -> None:
    """What a person saw."""
    print(f"--- {title}: exit code {engine.exit_code}\n{engine.output.strip()}")
