"""How a job on a cluster is shown while it runs."""

from typing import Any

from seatunnel_core.cli.progress import JobProgressLine


def job(read: int, **more: Any) -> dict[str, Any]:
    metrics = {"SourceReceivedCount": str(read), "SourceReceivedBytes": "31100000", "SinkCommittedCount": "1000.0"}
    return {"jobId": "7", "jobStatus": "RUNNING", "metrics": metrics, **more}


def test_a_line_that_is_replaced_on_a_terminal() -> None:
    now = [0.0]
    shown: list[str] = []
    line = JobProgressLine(shown.append, shown.append, clock=lambda: now[0])
    line.tell(job(1_000))
    now[0] = 2.0
    line.tell(job(5_000))
    assert shown == [
        "Job 7: RUNNING, 1,000 rows read, 31.1 MB, 0 rows/s, 1,000 committed",
        "Job 7: RUNNING, 5,000 rows read, 31.1 MB, 2,000 rows/s, 1,000 committed",
    ]


def test_lines_at_times_where_there_is_no_terminal() -> None:
    now = [0.0]
    written: list[str] = []
    line = JobProgressLine(None, written.append, clock=lambda: now[0])
    for now[0] in (0.0, 5.0, 10.0, 11.0, 20.0):
        line.tell(job(10))
    assert len(written) == 2


def test_figures_of_another_version_are_none() -> None:
    shown: list[str] = []
    JobProgressLine(shown.append, shown.append, clock=lambda: 0.0).tell(job(1, metrics={"SourceReceivedCount": "?"}))
    assert "0 rows read" in shown[0]
