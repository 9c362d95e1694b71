"""A process that is killed in its job, and the next one, from a ready Spark to the first file that it commits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.bench import jobs

ENV = "checkpoint.interval = 100"
JOB = "killed"
_PATIENCE_S = 120.0


def begin_and_kill(conf: Path, folder: Path) -> None:
    """Until a file is committed: then the engine and all that it started are gone at once."""
    command = [sys.executable, "-m", "seatunnel_core.cli", "-c", str(conf), "-m", "local[2]", "--set-job-id", JOB]
    command += ["--engine-config", str(jobs.write_engine(folder))]
    engine = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + _PATIENCE_S
    while not any((folder / "out").glob("*.parquet")):
        assert engine.poll() is None, "the job ended before it was killed"
        assert time.monotonic() < deadline, "nothing was committed"
        time.sleep(0.01)
    os.killpg(engine.pid, signal.SIGKILL)
    engine.wait()
