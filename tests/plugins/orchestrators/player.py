"""Airflow or Dagster as a process of its own, told what to run, in the environment of ``make test-orchestrators``."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.nodes import WAIT_S

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent


def environment_of_orchestrators() -> Path:
    """Return the folder of the virtual environment with Airflow and Dagster; fail where it is not there."""
    folder = ROOT / os.environ.get("SEATUNNEL_ORCHESTRATORS", ".venv-orchestrators")
    if not (folder / "bin/airflow").exists():
        pytest.fail(f"Airflow and Dagster are not installed in {folder}: run `make test-orchestrators`")
    return folder


class Player:
    """A process that runs what it is told, one after the other.

    Args:
        script: beside this file.
        folder: for its home and its log.
        environment: variables besides those of this process.
    """

    def __init__(self, script: str, folder: Path, environment: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "player.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [environment_of_orchestrators() / "bin/python", HERE / script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env={**os.environ, **environment},
                text=True,
            )

    def begin(self, **asked: Any) -> None:
        """Have it run something."""
        assert self._process.stdin is not None
        self._begun = len(self.log())
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()

    def result(self) -> dict[str, Any]:
        """Wait for what it ran, and return how that ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it died: {self.log()[-3000:]}"
        return dict(json.loads(line))

    def run(self, **asked: Any) -> dict[str, Any]:
        """Have it run something, and return how that ended."""
        self.begin(**asked)
        return self.result()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def log(self) -> str:
        """Return all that it has written."""
        return self._log.read_text("utf-8", "replace")

    def said(self) -> str:
        """Return what it has written since it began the last thing."""
        return self.log()[self._begun :]

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def wait_for(player: Player, words: str) -> None:
    """Wait until a player has written some words since it began."""
    until = time.monotonic() + WAIT_S
    while words not in player.said():
        assert time.monotonic() < until, player.said()[-3000:]
        time.sleep(0.05)
