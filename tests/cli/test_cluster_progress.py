"""How a job on a cluster is shown while it runs."""

import io
import json
from typing import Any

from rich.console import Console

from seatunnel_core.cli.progress import JobProgressLine
from seatunnel_core.cli.terminal.pipeline_table import PipelineTable
from seatunnel_core.reporting.pipeline_record import pipeline_record
from seatunnel_core.reporting.report import PipelineView


def job(read: int, **more: Any) -> dict[str, Any]:
    metrics = {"SourceReceivedCount": str(read), "SourceReceivedBytes": "31100000", "SinkCommittedCount": "1000.0"}
    return {"jobId": "7", "jobStatus": "RUNNING", "metrics": metrics, **more}


def test_a_line_that_is_replaced_on_a_terminal() -> None:
    now = [0.0]
    shown: list[Any] = []
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
    shown: list[Any] = []
    JobProgressLine(shown.append, shown.append, clock=lambda: 0.0).tell(job(1, metrics={"SourceReceivedCount": "?"}))
    assert "0 rows read" in shown[0]


def pipelines(*read: int) -> list[dict[str, Any]]:
    views = [
        PipelineView(
            id=number, name=f"t{number} -> out", phase="running", rows_read=rows, splits_total=4, splits_done=1
        )
        for number, rows in enumerate(read, 1)
    ]
    return [json.loads(json.dumps(pipeline_record(view))) for view in views]


def test_pipelines_are_shown_as_those_of_a_local_job() -> None:
    shown: list[Any] = []
    line = JobProgressLine(shown.append, shown.append, clock=lambda: 0.0)
    line.tell(job(1, pipelines=pipelines(10, 20)))
    (views,) = shown
    assert [(view.name, view.rows_read) for view in views] == [("t1 -> out", 10), ("t2 -> out", 20)]
    table = PipelineTable(Console(width=120, height=30, file=(text := io.StringIO())))
    Console(width=120, file=text).print(table.of(views))
    assert "t2 -> out" in text.getvalue()
    assert "1/4" in text.getvalue()


def test_pipelines_have_lines_where_there_is_no_terminal() -> None:
    now = [0.0]
    written: list[str] = []
    line = JobProgressLine(None, written.append, clock=lambda: now[0])
    for now[0] in (0.0, 5.0, 10.0):
        line.tell(job(1, pipelines=pipelines(10, 20)))
    assert [text.partition(",")[0] for text in written] == ["t1 -> out: running", "t2 -> out: running"]
    assert "splits 1/4" in written[0]


def test_pipelines_of_another_version_leave_the_sums() -> None:
    shown: list[Any] = []
    JobProgressLine(shown.append, shown.append, clock=lambda: 0.0).tell(job(7, pipelines=[{"id": "?"}]))
    assert "7 rows read" in shown[0]
