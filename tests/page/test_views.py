"""The page of a real node in a real browser: each view, each action, ten thousand ended jobs, no byte from outside."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.page.browsing import WAIT_MS, Watched, chromium, watched
from tests.page.histories import HOSTILE, a_node
from tests.runtime.command import fake_source, ids, job, parquet_sink
from tests.server.nodes import Node, until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

JOBS = 10_000
VIEWS = {
    "overview": "#/",
    "current": "#/jobs",
    "pending": "#/jobs/pending",
    "ended": "#/jobs/finished",
    "failed": "#/job/ended-2",
    "checkpoints": "#/job/ended-2/checkpoints",
    "log": "#/job/ended-2/log",
    "options": "#/job/ended-2/options",
    "unknown": "#/job/nobody",
    "submit": "#/submit",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, str, Path]]:
    folder = tmp_path_factory.mktemp("page") / "node"
    with a_node(folder, jobs=JOBS) as (running, origin):
        until("the node leads", running.leads)
        yield running, origin, folder


@pytest.fixture
def seen(browser: Any, node: tuple[Node, str, Path]) -> Iterator[Watched]:
    with watched(browser, node[1]) as found:
        yield found
        found.unharmed()


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(1280, False, id="wide-light"),
        pytest.param(1280, True, id="wide-dark", marks=pytest.mark.long),
        pytest.param(390, False, id="phone-light", marks=pytest.mark.long),
        pytest.param(390, True, id="phone-dark"),
    ],
)
def test_each_view_fits_and_can_be_used_by_everybody(
    browser: Any, node: tuple[Node, str, Path], width: int, dark: bool
) -> None:
    with watched(browser, node[1], width=width, dark=dark) as seen:
        for name, where in VIEWS.items():
            seen.open(where)
            seen.settle()
            assert seen.overflows() <= 0, name
            assert seen.findings() == [], name
        seen.unharmed()


def test_ten_thousand_ended_jobs_are_shown_a_page_at_a_time(seen: Watched) -> None:
    page = seen.page
    begun = time.monotonic()
    seen.open("#/jobs/finished")
    page.get_by_text("Page 1 of 500 · 10,000 jobs").wait_for()
    assert time.monotonic() - begun < 15
    rows = page.locator("tbody tr")
    assert rows.count() == 20
    assert "ended-9999" in rows.first.inner_text()
    page.get_by_role("link", name="Next").click()
    page.get_by_text("Page 2 of 500").wait_for()
    assert "ended-9979" in rows.first.inner_text()
    page.get_by_role("link", name="Last").click()
    page.get_by_text("Page 500 of 500").wait_for()
    assert "ended-0" in rows.last.inner_text()
    page.get_by_role("link", name="failed", exact=True).click()
    page.get_by_text("Page 1 of 100 · 2,000 jobs").wait_for()
    assert set(page.locator("tbody .pill").all_inner_texts()) == {"failed"}
    page.get_by_label("A job's id").fill("ended-7")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("heading", name="load 7").wait_for()


def test_what_jobs_are_called_and_say_is_text(seen: Watched) -> None:
    seen.open("#/job/ended-7")
    seen.settle()
    assert HOSTILE in seen.page.inner_text("h1")
    seen.open("#/job/ended-2")
    seen.settle()
    assert HOSTILE in seen.page.inner_text("section.error")
    assert seen.page.locator("main img, main script").count() == 0


def test_an_error_opens_the_help_that_it_names(seen: Watched) -> None:
    page = seen.page
    seen.open("#/job/ended-2")
    page.get_by_role("button", name="seatunnel help ROW-ERROR").click()
    window = page.get_by_role("dialog")
    window.get_by_text("What to do").wait_for()
    assert seen.findings() == []
    page.keyboard.press("Escape")
    window.wait_for(state="detached")


def test_the_keyboard_is_enough(seen: Watched) -> None:
    page = seen.page
    seen.open("#/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.evaluate("location.hash") == "#/"
    for _ in range(12):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent") == "Submit":
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Submit a job").wait_for()


def test_the_switch_of_colours_is_kept(seen: Watched) -> None:
    page = seen.page
    seen.open("#/")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Colours").select_option("dark")
    assert page.evaluate(ground) != light
    seen.open("#/jobs")
    assert page.evaluate(ground) != light
    assert page.get_by_label("Colours").input_value() == "dark"


def slow_job(target: Path) -> str:
    env = "job.name = slow, job.mode = BATCH, checkpoint.interval = 500, read_limit.rows_per_second = 40"
    return job(env, [fake_source("numbers", rows=2_000, splits=400)], [parquet_sink("numbers", target)])


def submit(seen: Watched, text: str, job_id: str, *, press: str = "Submit") -> None:
    """Write a job into the form and submit it."""
    page = seen.page
    page.get_by_label("The job", exact=True).fill(text)
    page.get_by_label("Id", exact=True).fill(job_id)
    page.get_by_role("button", name=press, exact=True).click()


def act(seen: Watched, deed: str) -> None:
    """Press a button of the job, and the one that confirms it."""
    seen.page.get_by_role("button", name=deed, exact=True).click()
    seen.page.get_by_role("dialog").get_by_role("button", name=deed, exact=True).click()


def wait_state(seen: Watched, state: str) -> None:
    seen.page.locator("h1 .pill", has_text=state).wait_for(timeout=2 * WAIT_MS)


@pytest.mark.long
@pytest.mark.spark
def test_a_job_is_submitted_watched_stopped_with_a_savepoint_restored_and_stopped(
    seen: Watched, node: tuple[Node, str, Path]
) -> None:
    page, target = seen.page, node[2] / "out/slow"
    node[0].wait_ready()
    seen.open("#/submit")
    submit(seen, slow_job(target), "slow-1")
    wait_state(seen, "running")
    page.locator(".graph svg .vertex").nth(1).wait_for()
    assert page.locator(".graph .vertex text:last-child").all_text_contents() == ["FakeSource", "LocalFile"]
    page.wait_for_function("() => document.querySelector('.figures dd')?.textContent > '0'")
    page.get_by_role("heading", name="Rows per second").wait_for()
    assert seen.findings() == []
    for tab, shown in (
        ("Checkpoints", "Age of the last"),
        ("Log", "attempt 1 runs"),
        ("Options", "checkpoint.interval"),
    ):
        page.get_by_role("link", name=tab, exact=True).click()
        seen.wait_text(shown)
        assert seen.findings() == [], tab
    act(seen, "Take a savepoint")
    page.get_by_role("dialog").get_by_text("is complete").wait_for()
    page.keyboard.press("Escape")
    act(seen, "Stop with a savepoint")
    wait_state(seen, "savepoint done")
    rows = len(ids(target))
    assert 0 < rows < 2_000
    page.get_by_role("link", name="Restore…").click()
    page.get_by_role("heading", name="Restore a job").wait_for()
    assert page.get_by_label("go on with the job of this id").is_checked()
    assert page.get_by_label("Id", exact=True).input_value() == "slow-1"
    submit(seen, slow_job(target), "slow-1", press="Restore")
    wait_state(seen, "running")
    act(seen, "Stop at once")
    wait_state(seen, "canceled")
    found = ids(target)
    assert len(found) >= rows
    assert len(set(found)) == len(found)


def test_a_job_that_cannot_be_is_refused_and_says_why(seen: Watched) -> None:
    seen.open("#/submit")
    bad = "env { job.mode = BATCH }\nsource { LocalFile { path = in, file_format_type = text } }"
    seen.page.get_by_label("The job", exact=True).fill(bad)
    seen.page.get_by_role("button", name="Check").click()
    seen.wait_text("1 problem")
    submit(seen, bad, "bad-1")
    seen.page.get_by_role("heading", name="Not taken").wait_for()
    assert "the job has no sink" in seen.text()
    assert seen.findings() == []


def test_a_file_is_chosen_and_its_ending_names_its_format(seen: Watched, tmp_path: Path) -> None:
    file = tmp_path / "nightly.sql"
    file.write_text("CREATE TABLE a (id BIGINT);")
    seen.open("#/submit")
    seen.page.get_by_label("File").set_input_files(str(file))
    seen.page.wait_for_function("() => document.querySelector('textarea').value.startsWith('CREATE')")
    assert seen.page.get_by_label("Format").input_value() == "sql"
