"""The report of a job has the warnings that were found while it ran: in the driver, and in tasks."""

from pathlib import Path

from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.reporting.report_record import report_from, report_record
from tests.runtime.ground import ground_in, run_through


def test_a_report_has_the_warnings_about_files_and_rows(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text('{"ID": 1}\n{"id": 2}\n')
    source = f'path = "{folder}", schema {{ fields {{ id = bigint }} }}'
    text = f"""
        env {{ job.mode = BATCH }}
        source {{
          LocalFile {{ {source}, file_format_type = json, plugin_output = a }}
          LocalFile {{ {source}, file_format_type = csv, filename_extension = ".csv", plugin_output = b }}
        }}
        sink {{
          LocalFile {{ plugin_input = a, path = "{tmp_path}/a", file_format_type = csv }}
          LocalFile {{ plugin_input = b, path = "{tmp_path}/b", file_format_type = csv }}
        }}
    """
    with ground_in(tmp_path) as ground:
        report, _ = run_through(ground.run(text))
    assert report.outcome is JobOutcome.FINISHED
    first, second = report.warnings
    assert first.startswith("pipeline 1 a -> LocalFile-sink-a: ")
    assert "the key 'ID' but no 'id'" in first
    assert second.startswith(f"pipeline 2 b -> LocalFile-sink-b: {folder} has 1 file")
    assert "all of them are skipped" in second
    assert report_from(report.job_id, report_record(report)).warnings == report.warnings
