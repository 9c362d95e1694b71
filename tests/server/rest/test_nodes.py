"""What nodes tell of themselves: their machines, their clocks, their threads."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.errors import PlatformError
from seatunnel_core.server.agent.machine import ClockDifference, Machine
from seatunnel_core.server.agent.peers import Line
from tests.server.test_rest import ask, config_of, leading


def test_each_node_says_what_it_measures_and_one_that_hangs_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    for address in ("127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"):
        agent.leadership.joined(address, works=True)

    async def answer(address: str, line: Line, target: str, _body: Any) -> Any:
        assert (line, target) == (Line.MONITORING, "/internal/v1/monitoring")
        if address.endswith(":2"):
            return {"processors": "8", "cluster.timeDiff": "-1500"}
        if address.endswith(":3"):
            raise PlatformError("it cannot be reached")
        return await asyncio.sleep(60)

    monkeypatch.setattr(agent.peers, "ask", answer)
    monkeypatch.setattr(Line, "answer_s", 0.1)
    begun = time.monotonic()
    status, found, _ = ask(agent, "GET", "/system-monitoring-information")
    assert (status, time.monotonic() - begun < 30) == (200, True)
    own, second, third, fourth = found
    assert (own["isMaster"], own["host"], own["port"], own["cluster.timeDiff"]) == ("true", "127.0.0.1", "1", "0")
    assert own["physical.memory.total"].endswith("G")
    assert (second["isMaster"], second["processors"], second["cluster.timeDiff"]) == ("false", "8", "-1500")
    assert (third["timeout"], third["error"]) == ("true", "it cannot be reached")
    assert (fourth["timeout"], fourth["port"]) == ("true", "4")


def test_a_machine_is_measured() -> None:
    machine = Machine()
    measured = machine.measured()
    assert all(isinstance(text, str) for text in measured.values())
    assert int(measured["thread.count"]) >= 1
    assert measured["load.process"].endswith("%")
    assert float(measured["heap.memory.used/max"].rstrip("%")) < 100
    assert Machine(proc=Path("/nowhere")).measured().keys() >= {"processors", "thread.count"}


def test_a_clock_that_is_off_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = ClockDifference()
    with caplog.at_level(logging.WARNING, logger="seatunnel.cluster"):
        clock.note("leader", theirs=100.0, sent=102.0, received=102.2)
        assert clock.ms == 2100
        clock.note("leader", theirs=100.0, sent=102.0, received=102.2)
        assert len(caplog.records) == 1
        assert "2.1 s ahead of the clock of the leader" in caplog.text
        clock.note("leader", theirs=100.0, sent=100.0, received=100.1)
        clock.note("leader", theirs=103.0, sent=98.0, received=104.0)  # the answer took longer than it may be off
        assert len(caplog.records) == 1


def test_the_threads_of_a_node_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    done = threading.Event()
    threading.Thread(target=done.wait, args=(60,), name="of a test", daemon=True).start()
    try:
        dump = ask(agent, "GET", "/thread-dump")[1]
        (own,) = (each for each in dump if each["threadName"] == "of a test")
        assert "wait(" in own["stackTrace"]
        names = [each["threadName"] for each in ask(agent, "GET", "/running-threads")[1]]
        assert "of a test" in names
        assert names == sorted(names)
    finally:
        done.set()


def test_the_memory_of_a_node_is_that_of_all_its_processes() -> None:
    """Only the agent's was shown, and its JVMs and Python workers have most of it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        alone, own, all_own = (
            Machine()._node_memory(roots) for roots in ({child.pid}, {os.getpid(), child.pid}, {os.getpid()})
        )
        child.communicate(b"\n")
    assert alone["node.processes"] == "1"
    assert int(own["node.processes"]) >= 2
    assert own["node.processes"] == all_own["node.processes"], "a child counts once"
