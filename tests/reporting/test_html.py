"""What notebooks and shells show of jobs: short, whole, escaped, and without anything that runs."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.reporting.html import InShort
from seatunnel_core.reporting.metrics import JobMetrics, PipelineMetrics
from seatunnel_core.reporting.report import JobOutcome, JobProgress, JobReport, PipelineView
from seatunnel_core.reporting.shown_pipelines import MOST_LINES

EVIL = "<script>alert('$x$ & \"y\"')</script>\ud800"
VIEW = PipelineView(
    id=1,
    name="in -> out",
    phase="finished",
    rows_read=1200,
    rows_committed=1199,
    bytes_read=31_100,
    splits_done=3,
    splits_total=3,
    checkpoints_completed=4,
)
REPORT = JobReport(
    job_id="17", name="cities", outcome=JobOutcome.FINISHED, pipelines=(VIEW,), started_at=10.0, ended_at=12.0
)


class Read(HTMLParser):
    """What a page says, and with which elements; one that is not closed, or closed twice, is an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def metrics(*views: PipelineMetrics, state: str = "running") -> JobMetrics:
    return JobMetrics(job_id="17", name="cities", started_at=1.0, state=state, pipelines=views)


def test_a_report_says_pipelines_rows_rates_and_checkpoints() -> None:
    words = Read(REPORT._repr_html_()).words
    assert words[0] == "Job cities (17) finished in 2.0 s"
    headings = ["pipeline", "state", "splits", "read", "bytes", "rate", "committed", "checkpoints"]
    assert words[1:] == [*headings, "1 in -> out", "finished", "3/3", "1,200", "31.1 kB", "600 rows/s", "1,199", "4"]


def test_what_is_rare_has_a_column_where_it_happened() -> None:
    view = evolve(VIEW, rows_skipped=2, restarts=1, checkpoints_failed=3)
    words = Read(evolve(REPORT, pipelines=(VIEW, view))._repr_html_()).words
    assert words[9:11] == ["skipped", "restarts"]
    assert words[-3:] == ["4, 3 failed", "2", "1"]


def test_failures_and_warnings_are_told_with_how_to_go_on() -> None:
    view = evolve(VIEW, phase="failed", failure="the disk is full", code="SINK-ERROR")
    report = evolve(REPORT, outcome=JobOutcome.FAILED, pipelines=(view,), warnings=("slow",), failure="lost")
    words = Read(report._repr_html_()).words
    assert words[-4:] == [
        "The job failed: lost",
        "1 in -> out: the disk is full\nMore: seatunnel help SINK-ERROR",
        "slow",
        "To resume it: job.run(restore='17')",
    ]


def test_rows_of_earlier_processes_make_no_rate() -> None:
    words = Read(evolve(REPORT, resumed=True)._repr_html_()).words
    assert "600 rows/s" not in words
    assert "Row counts are for the whole job; time, checkpoints and restarts are for this run." in words


def test_a_running_job_shows_its_rates_and_what_stalls_it() -> None:
    view = PipelineMetrics(id=1, name="a", phase="running", rows_read_per_second=41.7, degraded="no disk")
    words = Read(metrics(view)._repr_html_()).words
    assert words[0] == "Job cities (17) running"
    assert {"42 rows/s", "degraded", "0/?", "1 a: no disk"} <= set(words)
    assert "42 rows/s" not in Read(metrics(view, state="finished")._repr_html_()).words
    assert Read(metrics()._repr_html_()).words[-1] == "No pipeline has started."


@pytest.mark.parametrize(
    "shown",
    [
        evolve(
            REPORT,
            name=EVIL,
            outcome=JobOutcome.FAILED,
            failure=EVIL,
            code=EVIL,
            warnings=(EVIL,),
            pipelines=(evolve(VIEW, name=EVIL, phase=EVIL, failure=EVIL, code=EVIL),),
        ),
        JobProgress(job_id="17", name=EVIL, pipelines=(evolve(VIEW, name=EVIL, degraded=EVIL),)),
        JobMetrics(
            job_id="17",
            name=EVIL,
            started_at=1.0,
            state="failed",
            pipelines=(PipelineMetrics(id=1, name=EVIL, phase=EVIL, failure=EVIL),),
        ),
        InShort(evolve(REPORT, name=EVIL)),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_nothing_of_a_job_becomes_markup(shown: Any) -> None:
    page = shown._repr_html_()
    page.encode("utf-8")
    read = Read(page)
    assert read.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert read.attributes <= {"style", "class", "tabindex"}
    assert any("<script>alert('$x$ & \"y\"')</script>?" in words for words in read.words)
    repr(shown).encode("utf-8")
    assert "\n" not in repr(shown)


def test_colours_are_those_of_the_page_around() -> None:
    """On a dark page as on a light one: only borders have colours of their own."""
    view = evolve(VIEW, failure="x", degraded="y")
    page = evolve(REPORT, outcome=JobOutcome.FAILED, pipelines=(view,), warnings=("w",))._repr_html_()
    styles = ";".join(re.findall(r'style="([^"]*)"', page)).split(";")
    assert not {style.split(":")[0] for style in styles} & {"color", "background", "background-color"}


def test_many_pipelines_are_cut_and_the_failed_ones_kept() -> None:
    views = tuple(evolve(VIEW, id=number, failure="full" if number == 90 else "") for number in range(1, 101))
    words = Read(evolve(REPORT, pipelines=views)._repr_html_()).words
    assert sum(word.endswith(" in -> out") for word in words) == MOST_LINES
    assert "90 in -> out" in words
    assert f"… and {100 - MOST_LINES} more" in words


def test_a_job_that_went_well_is_one_line() -> None:
    said = "finished in 2.0 s: 1 pipeline, 1,200 rows read, 1,199 committed"
    assert Read(InShort(REPORT)._repr_html_()).words == [f"Job cities (17) {said}"]
    assert Read(InShort(evolve(REPORT, warnings=("slow",)))._repr_html_()).words[-1] == "slow"
    assert repr(InShort(REPORT)) == f"<JobReport 'cities' (17) {said}>"


def test_each_has_a_short_repr() -> None:
    failed = evolve(VIEW, phase="failed", failure="x" * 500 + "\nsecond")
    short = "failed: '" + "x" * 100 + "…'"
    assert repr(failed) == f"<PipelineView 1 'in -> out' failed: 1,200 rows read, 1,199 committed; {short}>"
    report = evolve(REPORT, outcome=JobOutcome.FAILED, pipelines=(failed, VIEW))
    assert repr(report).endswith(f"failed in 2.0 s: 2 pipelines, 2,400 rows read, 2,398 committed; {short}>")
    progress = JobProgress(job_id="17", name="cities", pipelines=(VIEW,))
    assert repr(progress) == "<JobProgress 'cities' (17): 1 pipeline, 1,200 rows read, 1,199 committed>"
    assert repr(metrics()) == "<JobMetrics 'cities' (17) running: 0 pipelines, 0 rows read, 0 committed>"
