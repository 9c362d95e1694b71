"""The command ``seatunnel checkpoints`` on the storage of a job, as somebody types it."""

import json
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.cli.checkpoints import tables as tables
from seatunnel_core.cli.main import main
from seatunnel_core.inspector import survey_job
from seatunnel_storage_api.state import CheckpointRef
from tests.inspector.made import JOB, Made


class Terminal:
    """Runs the command on the storage of a job."""

    def __init__(self, made: Made, capsys: pytest.CaptureFixture[str]) -> None:
        self.made = made
        self.state = made.storage.namespace
        self._capsys = capsys
        self.complaint = ""

    def run(self, verb: str, *arguments: str, code: int = 0, state: str | None = None) -> str:
        """What the command prints; what it complains of is ``complaint``."""
        found = main(["checkpoints", verb, *arguments, "--from", state or self.state])
        said = self._capsys.readouterr()
        self.complaint = said.err
        assert found == code, said
        return said.out

    def json(self, verb: str, *arguments: str, code: int = 0, state: str | None = None) -> Any:
        return json.loads(self.run(verb, *arguments, "--json", code=code, state=state))

    def damage(self, epoch: int, checkpoint_id: int) -> Path:
        pipeline = survey_job(self.made.storage, JOB).pipeline(1)
        return self.made.damage(pipeline.find(CheckpointRef(epoch, checkpoint_id)))
