"""Small jobs for an open backend."""

from pathlib import Path

import seatunnel_core as st
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import job_from_code
from seatunnel_core.registry import lookup
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.spark.backend import SparkBackend
from tests.runtime.command import engine_file


def csv_to_parquet(folder: Path, target: str) -> st.Job:
    """Build a job that copies the ids 0 to 99 from two CSV files to Parquet in ``folder / target``."""
    if not (folder / "in").exists():
        (folder / "in").mkdir()
        for first in (0, 50):
            lines = (f"{row},text {row}\n" for row in range(first, first + 50))
            (folder / "in" / f"{first}.csv").write_text("".join(lines))
    job = st.Job(target, {"job.mode": "BATCH"})
    schema = {"fields": {"id": "bigint", "text": "string"}}
    rows = job.source("LocalFile", path=f"{folder}/in", file_format_type="csv", schema=schema)
    rows.sink("LocalFile", path=f"{folder}/{target}", file_format_type="parquet")
    return job


def run_of(job: st.Job, folder: Path, backend: SparkBackend, job_id: str) -> JobRun:
    """Prepare a run of the job on the backend; its checkpoints lie in ``folder``."""
    raw, engine = job_from_code(job._env, job._nodes), load_engine(engine_file(folder))
    return JobRun(raw, engine, registry=lookup, job_id=job_id, log_file=folder / "spark.log", backend=backend)
