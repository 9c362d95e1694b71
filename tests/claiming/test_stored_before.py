"""A job that a former version stored goes on: manifest, savepoint and enumeration as they lay on the disk.

``stored_before/nightly`` is the storage of a job that was stopped with a savepoint after 800 of 4,000 rows, before the
modules of the protocol had the places and names that they have now.
"""

import json
import shutil
from pathlib import Path

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.inspector.reference import StorageReference
from tests.runtime.command import Command

STORED = Path(__file__).parent / "stored_before"
JOB = """
env { job.mode = BATCH }
source { FakeSource { plugin_output = ids, row.num = 4000, split.num = 40
  schema { fields { id = bigint, name = string } }
  auto.increment.enabled = true } }
sink { LocalFile { plugin_input = ids, path = "%s/out", file_format_type = json } }
"""


def test_each_checkpoint_is_read_and_would_be_written_as_it_is(tmp_path: Path) -> None:
    shutil.copytree(STORED, tmp_path / "state")
    with StorageReference(storage=f"{tmp_path}/state/").open() as storage:
        states = [stored.states for stored in storage.get_all_checkpoints("nightly", 1)]
    assert len(states) == 3
    assert [codec.encode(codec.decode(state)) for state in states] == states


@pytest.mark.spark
def test_the_job_goes_on_and_gives_the_rows_that_it_had_not_given(tmp_path: Path) -> None:
    command = evolve(Command.of(tmp_path, JOB % tmp_path), job_id="nightly")
    shutil.copytree(STORED, tmp_path / "state", dirs_exist_ok=True)
    engine = command.resume()
    assert engine.wait(100) == 0, engine.output
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["id"] for line in lines) == list(range(801, 4001))
