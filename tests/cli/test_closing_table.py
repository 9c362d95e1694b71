"""What a job leaves on the screen."""

from pathlib import Path

from attrs import evolve

from seatunnel_core.cli.closing_table import closing_table
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
from seatunnel_core.reporting.report_record import report_from, report_record
from seatunnel_core.reporting.shown_pipelines import MOST_LINES

FLIGHTS = PipelineView(
    id=1, name="flights", phase="finished", rows_read=336_780, rows_written=336_778, rows_committed=336_776,
    rows_skipped=2, checkpoints_completed=14, restarts=1,
)  # fmt: skip
REPORT = JobReport(
    job_id="42", name="demo", outcome=JobOutcome.FINISHED, pipelines=(FLIGHTS,), started_at=1000.0, ended_at=1015.25
)
RESUME = "seatunnel -c j -r 42"


def table(report: JobReport) -> str:
    return closing_table(report, RESUME)


def test_times_rows_and_checkpoints() -> None:
    text = table(REPORT)
    assert "Job 42 (demo) finished" in text
    assert "took 15.2 s" in text
    line = next(line for line in text.splitlines() if "finished  336,780" in line)
    assert line.split() == ["1", "finished", "336,780", "336,778", "336,776", "2", "14", "1"]
    assert RESUME not in text


def test_the_total_of_several_pipelines() -> None:
    planes = evolve(FLIGHTS, id=2, name="planes", rows_read=4, rows_written=3, rows_committed=2, rows_skipped=0)
    total = table(evolve(REPORT, pipelines=(FLIGHTS, planes))).splitlines()[-1]
    assert total.split() == ["total", "336,784", "336,781", "336,778", "2", "28", "2"]


def test_restarts_are_shown_when_there_were_some() -> None:
    assert "restarts" in table(REPORT)
    assert "restarts" not in table(evolve(REPORT, pipelines=(evolve(FLIGHTS, restarts=0),)))


def test_a_narrow_terminal_cuts_the_names_only() -> None:
    named = evolve(FLIGHTS, name="flights -> LocalFile-sink-flights", restarts=0)
    lines = closing_table(evolve(REPORT, pipelines=(named, evolve(named, id=2))), RESUME, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if "1 flights" in line)
    assert row.split()[-6:] == ["finished", "336,780", "336,778", "336,776", "2", "14"]
    assert "…" in row


def test_rows_that_were_added_and_rows_of_tables_are_told() -> None:
    added = evolve(FLIGHTS, added=("6 rows added to 1 existing file",), table_rows={"a": 1, "b": 5})
    lines = table(evolve(REPORT, pipelines=(added,))).splitlines()
    assert lines[-3:] == ["  b: 5 rows committed", "  a: 1 row committed", "  6 rows added to 1 existing file"]
    several = table(evolve(REPORT, pipelines=(added, evolve(FLIGHTS, id=2))))
    assert "  pipeline 1: 6 rows added to 1 existing file" in several
    many = evolve(FLIGHTS, table_rows={f"t{number:02}": 1 for number in range(25)})
    assert "  … and 5 more tables" in table(evolve(REPORT, pipelines=(many,)))


def test_what_was_stored_is_read_back() -> None:
    added = evolve(FLIGHTS, added=("6 rows",), table_rows={"a": 1, "b": 5})
    report = evolve(REPORT, pipelines=(added,))
    assert report_from("42", report_record(report)).pipelines == (added,)


def test_forty_columns_keep_the_name_and_each_figure() -> None:
    """The row of a pipeline was broken in the middle of its figures, and its name was cut to twelve letters."""
    named = evolve(FLIGHTS, name="flights -> LocalFile-sink-flights")
    lines = closing_table(evolve(REPORT, pipelines=(named, evolve(FLIGHTS, id=2))), RESUME, width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[-8:-4] == [
        "1 flights -> LocalFile-sink-flights",
        "  finished, 336,780 read, 2 skipped",
        "  336,778 written, 336,776 committed",
        "  14 checkpoints, 1 restart",
    ]


def test_the_only_pipeline_is_not_named() -> None:
    """The generated name of the only pipeline was repeated in each line about it."""
    failed = evolve(FLIGHTS, phase="failed", failure="no such file")
    for width in (None, 40):
        text = closing_table(evolve(REPORT, pipelines=(failed,)), RESUME, width=width)
        assert "flights" not in text
        assert "1 pipeline failed:\n  no such file" in text


def test_of_a_resumed_job_it_is_said_what_is_of_this_run() -> None:
    text = table(evolve(REPORT, resumed=True))
    assert "  this run started " in text
    assert "Row counts are for the whole job; time, checkpoints and restarts are for this run." in text
    assert "this run" not in table(REPORT)


def test_what_ended_the_whole_job_is_said() -> None:
    assert "The job failed: the disk is full" in table(evolve(REPORT, failure="the disk is full"))


def test_a_stopped_job_says_how_to_go_on() -> None:
    text = table(evolve(REPORT, outcome=JobOutcome.STOPPED))
    assert text.splitlines()[-1] == f"To resume this job: {RESUME}"


def test_a_job_that_another_process_took_over_is_left_to_it() -> None:
    """Two processes on one job: who follows the advice to go on would take it away from the one that works."""
    fenced = evolve(FLIGHTS, phase="fenced", failure="epoch 200000 was claimed")
    text = table(evolve(REPORT, outcome=JobOutcome.FAILED, pipelines=(FLIGHTS, fenced)))
    assert f"Another process now runs this job: let that process run. To take the job over again: {RESUME}" in text
    assert "To resume this job" not in text


def test_failures_and_warnings_are_repeated() -> None:
    failed = evolve(FLIGHTS, phase="failed", failure="a.csv, line 3, column year: 'x' is no int")
    warnings = ("job.conf:3: unknown key pth",)
    text = table(evolve(REPORT, outcome=JobOutcome.FAILED, pipelines=(failed,), warnings=warnings))
    assert "Job 42 (demo) FAILED" in text
    assert "1 pipeline failed:\n  a.csv, line 3, column year: 'x' is no int" in text
    assert "1 warning:\n  job.conf:3: unknown key pth" in text
    assert RESUME in text


def test_each_code_of_the_failures_says_once_where_to_read_more() -> None:
    failed = evolve(FLIGHTS, phase="failed", failure="a row", code="ROW-ERROR")
    views = (failed, evolve(failed, id=2), evolve(failed, id=3, failure="a disk", code=""))
    text = table(evolve(REPORT, outcome=JobOutcome.FAILED, pipelines=views, failure="no", code="STALE-EPOCH"))
    assert "3 flights: a disk\n  More: seatunnel help STALE-EPOCH\n  More: seatunnel help ROW-ERROR\n" in text
    assert text.count("More:") == 2
    assert "More:" not in table(REPORT)


def test_a_job_that_had_ended_before_says_that_nothing_moved() -> None:
    assert "nothing was moved" in table(evolve(REPORT, ended_before=True))


def test_the_log_file_is_named() -> None:
    assert "/logs/42.log" in table(evolve(REPORT, log_file=Path("/logs/42.log")))


def test_of_a_thousand_pipelines_the_failed_ones_are_shown() -> None:
    pipelines = [evolve(FLIGHTS, id=number, name=f"t{number}") for number in range(1, 1001)]
    pipelines[899] = evolve(pipelines[899], phase="failed", failure="no such file")
    text = table(evolve(REPORT, pipelines=tuple(pipelines), outcome=JobOutcome.FAILED))
    assert "900 t900" in text
    assert f"… and {1000 - MOST_LINES} more" in text
    assert len(text.splitlines()) < MOST_LINES + 15
