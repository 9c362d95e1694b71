"""One log file per job, never mixed."""

import logging
from pathlib import Path

from seatunnel_core.server.host.job_logs import JobLogs


def test_each_record_goes_to_the_file_of_its_job_and_to_no_other(tmp_path: Path) -> None:
    logs = JobLogs(tmp_path / "logs")
    logger = logging.getLogger("test of job logs")
    logger.propagate = False
    logger.addHandler(logs)
    try:
        for job in ("1", "2", "1", "../2", "..", "", 7, None):
            logger.warning("of %s", job, extra={"job": job})
        logger.warning("of nobody")
        logs.forget("1")
        logs.forget("1")
        logger.warning("of 1 again", extra={"job": "1"})
    finally:
        logger.removeHandler(logs)
        logs.close()
    assert {path.name for path in tmp_path.rglob("*.log")} == {"job-1.log", "job-2.log"}
    lines = [line.partition("WARNING ")[2] for line in logs.path_of("1").read_text().splitlines()]
    assert lines == ["of 1", "of 1", "of 1 again"]
    assert logs.path_of("2").read_text().count("\n") == 1
