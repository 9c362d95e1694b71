"""What is shown while a job runs, with and without a terminal."""

import io
import re
from typing import Any

import pytest
from attrs import evolve
from rich.console import Console

from seatunnel_core.cli.progress import PlainDisplay, TerminalDisplay
from seatunnel_core.cli.terminal.pipeline_table import RateMeter
from seatunnel_core.cli.terminal.text import in_colour, wrapped
from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.reporting.report import JobProgress, PipelineView


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def view(number: int = 1, **changes: Any) -> PipelineView:
    base = PipelineView(id=number, name=f"table{number} -> out{number}", phase="running", splits_total=10)
    return evolve(base, **changes)


def progress(*views: PipelineView) -> JobProgress:
    return JobProgress(job_id="42", name="job", pipelines=views)


class TestRateMeter:
    def test_over_the_window(self) -> None:
        clock = Clock()
        meter = RateMeter(window_s=5, clock=clock)
        assert meter.rows_per_second(view(rows_read=1_000_000)) == 0  # what a former process read is no speed
        clock.now += 2
        assert meter.rows_per_second(view(rows_read=1_000_200)) == 100
        clock.now += 10
        assert meter.rows_per_second(view(rows_read=1_000_200)) == 0

    def test_the_time_that_is_left_follows_from_the_splits(self) -> None:
        clock = Clock()
        meter = RateMeter(clock=clock)
        assert meter.seconds_left(view(splits_done=1)) is None
        for _ in range(3):
            meter.rows_per_second(view(splits_done=1))
            assert meter.seconds_left(view(splits_done=1)) is None  # nothing has been done since
            clock.now += 2
        meter.rows_per_second(view(splits_done=4))
        assert meter.seconds_left(view(splits_done=4)) == 12
        assert meter.seconds_left(view(splits_done=4, bounded=False, splits_total=None)) is None

    def test_a_restart_never_shows_a_negative_rate(self) -> None:
        clock = Clock()
        meter = RateMeter(clock=clock)
        meter.rows_per_second(view(rows_read=500))
        clock.now += 1
        assert meter.rows_per_second(view(rows_read=0)) == 0


class TestPlainDisplay:
    def test_a_line_at_every_interval(self) -> None:
        clock = Clock()
        lines: list[Any] = []
        display = PlainDisplay(lines.append, interval_s=10, clock=clock)
        running = view(rows_read=1234, bytes_read=5_600_000, splits_done=3, last_checkpoint_id=7)
        display.show(progress(evolve(running, last_checkpoint_age_ms=800)))
        assert lines == []
        clock.now += 10
        display.show(progress(evolve(running, last_checkpoint_age_ms=800)))
        assert lines == ["pipeline 1: running, 1,234 rows, 5.6 MB, 0 rows/s, splits 3/10, checkpoint 7, 0.8 s ago"]
        clock.now += 9.9
        display.show(progress(running))
        assert len(lines) == 1

    def test_a_source_that_reads_a_log_shows_how_far_it_is(self) -> None:
        clock = Clock()
        lines: list[Any] = []
        display = PlainDisplay(lines.append, interval_s=10, clock=clock)
        sources = {"in": SourceProgress(position="0/10", lag_bytes=32)}
        clock.now += 10
        display.show(progress(view(sources=sources)))
        assert lines[0].endswith(", checkpoint none yet, in: log 0/10, 32 B behind")

    def test_news_come_at_once_and_only_once(self) -> None:
        lines: list[str] = []
        display = PlainDisplay(lines.append, interval_s=1000)
        for changed in (
            view(degraded="sink out1 does not commit"),
            view(degraded="sink out1 does not commit"),
            view(),
            view(phase="failed", failure="row 3 of a.csv: no number", rows_committed=2),
            view(phase="failed", failure="row 3 of a.csv: no number", rows_committed=2),
        ):
            display.show(progress(changed))
        assert lines == [
            "pipeline 1: DEGRADED: sink out1 does not commit",
            "pipeline 1: failed, 2 rows committed",  # why it failed was said by its log record
        ]

    def test_the_end_of_a_pipeline_is_news(self) -> None:
        lines: list[str] = []
        PlainDisplay(lines.append, interval_s=1000).show(progress(view(phase="finished", rows_committed=16)))
        assert lines == ["pipeline 1: finished, 16 rows committed"]

    def test_several_pipelines_have_names(self) -> None:
        lines: list[str] = []
        both = (view(phase="finished"), evolve(view(), id=2, name="table2 -> out2"))
        PlainDisplay(lines.append, interval_s=1000).show(evolve(progress(view()), pipelines=both))
        assert lines == ["table1 -> out1: finished, 0 rows committed"]

    def test_many_pipelines_are_summed_up(self) -> None:
        clock = Clock()
        lines: list[Any] = []
        display = PlainDisplay(lines.append, interval_s=1, clock=clock)
        clock.now += 1
        display.show(progress(*(view(number, rows_read=10, bytes_read=100) for number in range(1, 1001))))
        assert lines == ["1,000 pipelines: 1,000 running; 10,000 rows, 100.0 kB, 0 rows/s"]

    def test_many_pipelines_do_not_each_report_that_they_ended(self) -> None:
        """A job of 1,000 tables filled the screen with 1,000 lines before its closing table."""
        lines: list[str] = []
        display = PlainDisplay(lines.append, interval_s=1000)
        ended = [view(number, phase="finished") for number in range(1, 1000)]
        display.show(progress(*ended, view(1000, degraded="sink out1000 does not commit")))
        assert lines == ["table1000 -> out1000: DEGRADED: sink out1000 does not commit"]


class TestTerminalDisplay:
    def screen(self, *views: PipelineView, height: int = 25, width: int = 140) -> str:
        out = io.StringIO()
        console = Console(file=out, force_terminal=True, width=width, height=height, color_system=None)
        display = TerminalDisplay(console)
        display.show(progress(*views))
        display.close()
        return out.getvalue()

    def test_a_row_for_each_pipeline(self) -> None:
        screen = self.screen(
            view(1, rows_read=1234, last_checkpoint_id=7, last_checkpoint_age_ms=1500),
            view(2, phase="finished", splits_total=None),
        )
        assert "table1 -> out1" in screen
        assert "1,234" in screen
        assert "7, 1.5 s ago" in screen
        assert "0/?" in screen
        assert "finished" in screen

    @pytest.mark.parametrize(
        "urgent", [view(999, phase="failed", failure="no such file"), view(999, degraded="sink is slow")]
    )
    def test_where_there_is_no_room_the_urgent_ones_are_shown(self, urgent: PipelineView) -> None:
        others = [view(number) for number in range(1, 999)]
        screen = self.screen(*others, urgent, height=15)
        assert "table999" in screen
        assert "table500 " not in screen
        assert "999 pipelines" in screen

    def test_eighty_columns_are_enough(self) -> None:
        """Seven columns in 80 were squeezed until neither headings nor figures could be read."""
        flights = view(
            1, name="flights -> LocalFile-sink-flights", phase="starting Spark", rows_read=336_776_123,
            bytes_read=31_000_000, last_checkpoint_id=115, last_checkpoint_age_ms=800,
        )  # fmt: skip
        lines = [line.rstrip() for line in self.screen(flights, width=80).splitlines()]
        headings = next(line for line in lines if "checkpoint" in line)
        assert re.findall(r"(?<= )[a-z/]+", headings) == ["state", "rows", "rows/s", "checkpoint"]
        shown = next(line for line in lines if "flights" in line)
        assert shown.startswith("flights -> Local")
        assert "starting Spark" in shown
        assert "336,776,123" in shown
        assert shown.endswith("115, 0.8 s ago")

    def test_how_much_is_done_and_left_is_shown(self) -> None:
        assert "running 30 %" in self.screen(view(splits_done=3))
        assert "%" not in self.screen(view(splits_done=3, splits_total=None))

    def test_forty_columns_keep_the_names(self) -> None:
        """The name of a pipeline had no column left, and the figures were cut."""
        named = view(name="flights -> LocalFile-sink-flights", rows_read=336_776, splits_done=5)
        lines = [line.rstrip() for line in self.screen(named, width=40).splitlines()]
        assert any(line.endswith("flights -> LocalFile-sink-flights") for line in lines)
        assert any("running 50 %, 336,776 rows" in line for line in lines)

    def test_names_are_no_markup(self) -> None:
        assert "[bold]x" in self.screen(view(1, name="[bold]x"))


def test_failures_and_additions_have_colours() -> None:
    text = in_colour("Job 1 (a) FAILED\n  1 x  failed  0\n  6 rows added to 1 existing file\nJob 2 (b) finished")
    assert {str(span.style) for span in text.spans} == {"red", "yellow", "green"}
    assert not in_colour("a job that finished or failed").spans


def test_lines_are_broken_between_words_and_commands_are_not() -> None:
    text = "  a word and another one\n  seatunnel -c job.conf -r 42\nshort"
    assert wrapped(text, 14) == "  a word and\n  another one\n  seatunnel -c job.conf -r 42\nshort"
