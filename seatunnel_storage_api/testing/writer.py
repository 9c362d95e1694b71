"""Processes that the suite starts: writers that can be killed, and processes that claim epochs."""

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping

from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing.given import checkpoint

_PROGRAM = "import sys; from seatunnel_storage_api.testing import writer; writer.run(sys.argv[1])"


def start(
    factory: CheckpointStorageFactory, configuration: Mapping[str, str], verb: str, job_id: str, rounds: int
) -> subprocess.Popen[str]:
    """Start a process that runs ``verb`` (``store`` or ``claim``) ``rounds`` times and prints one line after each."""
    order = {
        "module": type(factory).__module__,
        "factory": type(factory).__qualname__,
        "configuration": dict(configuration),
        "verb": verb,
        "job_id": job_id,
        "rounds": rounds,
    }
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _PROGRAM, json.dumps(order)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def kill(process: subprocess.Popen[str], *, after_lines: int, after_s: float) -> list[str]:
    """Read ``after_lines`` lines, wait ``after_s`` seconds, kill the process, and return all complete lines."""
    with process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(after_lines)]
        time.sleep(after_s)
        process.kill()
        return [line for line in lines + process.stdout.readlines() if line.endswith("\n")]


def run(order: str) -> None:
    """Run the command of ``start`` in this process; print each line once its change is durable."""
    wanted = json.loads(order)
    factory = getattr(importlib.import_module(wanted["module"]), wanted["factory"])()
    with factory.create(wanted["configuration"]) as storage:
        do = {"store": _store, "claim": _claim}[wanted["verb"]]
        do(storage, wanted["job_id"], wanted["rounds"])


def _store(storage: CheckpointStorage, job_id: str, rounds: int) -> None:
    epoch = storage.acquire_epoch(job_id, 1, 1)
    for number in range(rounds):
        storage.store_checkpoint(checkpoint(epoch, number, states_of(number), job_id=job_id))
        _say(f"{epoch} {number}")


def _claim(storage: CheckpointStorage, job_id: str, rounds: int) -> None:
    for _ in range(rounds):
        _say(str(storage.acquire_epoch(job_id, 1, 1)))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def states_of(number: int) -> bytes:
    """Return the 100 kB that ``store`` stores under an ID, different for each ID."""
    return number.to_bytes(4, "big") * 25_000
