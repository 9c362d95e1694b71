"""The demo's job without its speed limit, what it prints, and its checker, which has to notice a wrong output."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seatunnel_core.config.env import CHECKPOINT_INTERVAL, ROWS_PER_SECOND
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables

ROOT = Path(__file__).parents[2]
JOB = ROOT / "examples/demo/flights.conf"
COMMAND = [str(Path(sys.executable).with_name("seatunnel")), "-c", str(JOB), "-i", "rows_per_second=100000000"]
FLIGHTS = 336_776


def surroundings(folder: Path) -> dict[str, str]:
    return os.environ | {"XDG_STATE_HOME": str(folder / "state")}


def test_the_limit_leaves_time_for_ten_checkpoints_in_about_15_seconds() -> None:
    env = load_job(JOB, Variables(environment={})).env
    seconds = FLIGHTS / env[ROWS_PER_SECOND]
    assert 13 < seconds < 17
    assert seconds * 1000 / env[CHECKPOINT_INTERVAL] > 10


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=surroundings(folder),
        capture_output=True,
        text=True,
    )


def move(folder: Path) -> tuple[str, str]:
    """Run the demo's job; the command that it printed, and all of its output."""
    with subprocess.Popen(
        COMMAND, cwd=folder, env=surroundings(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        begun, resume = process.stdout.readline(), process.stdout.readline().strip()
        stored = [path.name for path in (folder / "state").rglob("*") if ".tmp" not in path.parts]
        rest = process.stdout.read()
    assert process.returncode == 0, begun + resume + rest
    said = re.fullmatch(r"Job (\d+) \(flights\) runs in process (\d+)\. If it stops, resume it with:\n", begun)
    assert said is not None, begun
    assert said[2] == str(process.pid)
    assert shlex.split(resume) == [*COMMAND, "-r", said[1]]
    assert any(name.endswith(".epoch") for name in stored), "an id is worth nothing before it is durable"
    assert any(".restore-point." in name for name in stored)
    return resume, rest


def checkpoints(output: str) -> list[int]:
    """Those of each pipeline, as the closing table says."""
    return [int(line.split()[-1]) for line in output.splitlines() if re.match(r"  \d \w+ -> .*  finished ", line)]


def files(folder: Path) -> dict[str, tuple[int, int]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


def test_the_checker_finds_the_python_of_the_demo(tmp_path: Path) -> None:
    """``python examples/demo/verify.py``, as the README says, was an import error where that Python has no pyarrow."""
    copy = tmp_path / "examples/demo/verify.py"
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / "examples/demo/verify.py", copy)
    bare = [
        sys.executable,
        "-S",
        str(copy),
        str(tmp_path),
        str(tmp_path),
    ]  # -S: without the packages of a virtual environment
    alone = subprocess.run(bare, capture_output=True, text=True)
    assert (alone.returncode, "Run `make demo` first" in alone.stderr) == (1, True), alone.stderr
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    assert "flights: no Parquet file" in subprocess.run(bare, capture_output=True, text=True).stdout


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.torture  # for its time: `make demo` does it, too
@pytest.mark.long
def test_five_tables_arrive_and_the_checker_would_notice_if_they_did_not(tmp_path: Path) -> None:
    assert run(str(ROOT / "examples/demo/prepare.py"), folder=tmp_path).returncode == 0
    resume, output = move(tmp_path)
    assert "367,687    367,687" in output
    assert len(checkpoints(output)) == 5
    assert min(checkpoints(output)) >= 1

    parquet = files(tmp_path / "demo-output/parquet")
    again = subprocess.run(
        resume, shell=True, cwd=tmp_path, env=surroundings(tmp_path), capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert "367,687    367,687" in again.stdout
    assert "This job had already finished; nothing was moved." in again.stdout
    assert "Spark's log" not in again.stdout, "a closing table needs no Spark"
    assert files(tmp_path / "demo-output/parquet") == parquet

    verify = str(ROOT / "examples/demo/verify.py")
    checked = run(verify, folder=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "flights: 336,776 rows" in checked.stdout

    shutil.rmtree(tmp_path / "demo-output/parquet/flights")  # the big table is checked; the rest is quick
    (file,) = (tmp_path / "demo-output/parquet/planes").glob("*.parquet")
    table = pq.read_table(file, partitioning=None)
    pq.write_table(table.slice(1), file)
    (doubled,) = (tmp_path / "demo-output/parquet/airports").glob("*.parquet")
    shutil.copy(doubled, doubled.with_name("again.parquet"))
    wrong = run(verify, folder=tmp_path)
    assert wrong.returncode == 1
    assert "planes: 3,321 rows in 1 files, NOT EQUAL" in wrong.stdout
    assert "airports: 2,916 rows in 2 files, NOT EQUAL" in wrong.stdout
    assert "flights: no Parquet file" in wrong.stdout
    assert "airlines: 16 rows in 1 files, equal" in wrong.stdout
