"""An error that ends the whole job, and one that makes a Python worker run away: what is said, and what goes on."""

import os
import re
from pathlib import Path

import pytest

from tests.runtime.command import Command, column, fake_source, job, parquet_sink, staged

pytestmark = [
    pytest.mark.spark,
    pytest.mark.torture,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("commands-of-jobs"),
]

ROWS = 20_000

FUNCTIONS = '''
import os
import signal
from pathlib import Path
from seatunnel_core.errors import SinkError

class LicenceEndedError(SinkError):
    ends_job = True

def licensed(rows):
    if rows.num_rows and not Path("{folder}", "licence").exists():
        raise LicenceEndedError("the licence has ended: put a new one into {folder}/licence")
    return rows

def deadly(rows):
    """Takes its worker with it, as a row does that makes it run out of memory."""
    if 1_700 in rows.column("id").to_pylist() and not Path("{folder}", "mended").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return rows
'''


def a_job(folder: Path, function: str, env: str = "") -> Command:
    """The pipeline ``short`` calls the function; ``long`` has rows for twenty seconds."""
    sources = [
        fake_source("raw", rows=2_000, splits=4),
        fake_source("long", rows=ROWS, splits=200),
    ]
    sinks = [parquet_sink("short", folder / "out" / "short"), parquet_sink("long", folder / "out" / "long")]
    limit = "job.mode = BATCH, checkpoint.interval = 500, read_limit.rows_per_second = ${rate:1000}"
    text = job(f"{limit}, {env}", sources, sinks)
    text += f'transform {{ Python {{ plugin_input = raw, plugin_output = short, function = "functions:{function}" }} }}'
    command = Command.of(folder, text)
    (folder / "functions.py").write_text(FUNCTIONS.format(folder=folder))
    return command


def finishes_after(command: Command, mended: str) -> None:
    (command.folder / mended).touch()
    engine = command.resume("-i", "rate=100000")
    assert engine.wait(240) == 0, engine.output
    assert column(command.folder / "out" / "short", "id") == list(range(1, 2_001))
    assert column(command.folder / "out" / "long", "id") == list(range(1, ROWS + 1))
    assert not staged(command.folder / "out")


def test_an_error_that_ends_the_job_stops_the_other_pipelines_at_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    command = a_job(tmp_path, "licensed")
    engine = command.begin()
    assert engine.wait(240) == 1, engine.output
    print(engine.output)
    assert "the licence has ended" in engine.output
    assert re.search(r"2 long -> \S+ +stopped ", engine.output), engine.output
    assert len(column(tmp_path / "out" / "long", "id")) < ROWS
    finishes_after(command, "licence")


def test_a_row_that_kills_each_worker_is_found_by_what_the_message_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback and no line number is left of such a worker: only what it had been given to read."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    command = a_job(tmp_path, "deadly", "job.retry.times = 0")
    engine = command.begin()
    assert engine.wait(240) == 1, engine.output
    print(engine.output)
    said = re.search(r"work unit \d+ of source 'raw' failed on each of its 4 attempts\. It reads (.+)", engine.output)
    assert said, engine.output
    assert "rows 1501 to 2000" in said[1]
    assert column(tmp_path / "out" / "long", "id") == list(range(1, ROWS + 1)), "the other pipeline went on to its end"
    finishes_after(command, "mended")
