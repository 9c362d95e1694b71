"""``seatunnel --async``: a job that outlives the command that started it, with real processes and real Spark."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seatunnel_core.cli.init import init

ROWS = 40


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of this test's own; the job trickles for ten seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    init(Path("home"))
    (tmp_path / "job.conf").write_text(
        f"""
        env {{ checkpoint.interval = 500 }}
        source {{ FakeSource {{
          row.num = {ROWS}, split.num = 8, split.read-interval = 2500
          schema {{ fields {{ a = bigint }} }} }} }}
        sink {{ LocalFile {{ path = "{tmp_path}/out", file_format_type = "parquet" }} }}
        """
    )
    return tmp_path


def seatunnel(home: Path, *typed: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "seatunnel_core.cli", "--engine-config", "home/config/seatunnel.yaml", *typed]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=120, check=False)


def ended(pid: int) -> bool:
    """Whether the process is gone; it is no child of this one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks Linux whether a process is there")
def test_a_job_in_the_background_runs_to_its_end_and_is_reached_by_its_id(home: Path) -> None:
    answer = seatunnel(home, "--async", "-c", "job.conf", "-m", "local[2]", "--set-job-id", "7", "--log-format", "json")
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout)
    assert said["job"] == "7"
    assert "--async" in said["resume"]
    assert said["resume"].endswith("-r 7")
    assert not ended(said["process"])
    command = [sys.executable, "-m", "seatunnel_core.cli", "-j", "7"]
    listed = subprocess.run(command, cwd=home, capture_output=True, text=True, check=True).stdout
    assert str(said["process"]) in listed
    deadline = time.monotonic() + 120
    while not ended(said["process"]) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert ended(said["process"])
    assert "finished" in Path(said["output"]).read_text()
    assert sum(pq.read_metadata(file).num_rows for file in (home / "out").glob("*.parquet")) == ROWS


def test_what_ends_before_it_has_begun_is_reported_here(home: Path) -> None:
    (home / "job.conf").write_text("source { Nothing { } }\nsink { Console { } }\n")
    answer = seatunnel(home, "--async", "-c", "job.conf")
    assert answer.returncode == 2
    assert "job.conf:1" in answer.stdout
    assert "Nothing" in answer.stdout
