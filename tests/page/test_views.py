"""The page of a real node in a real browser: each view, each action, ten thousand ended jobs, no byte from outside."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.page.browsing import WAIT_MS, Watched, chromium, submit, watched
from tests.page.histories import HOSTILE, a_node
from tests.page.pictures import WAITING
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
    "metrics": "#/job/ended-2/metrics",
    "attempts": "#/job/ended-2/attempts",
    "plan": "#/job/ended-2/plan",
    "checkpoints": "#/job/ended-2/checkpoints",
    "log": "#/job/ended-2/log",
    "options": "#/job/ended-2/options",
    "searched": "#/jobs/finished?search=load%2099&sort=jobName&order=desc",
    "unknown": "#/job/nobody",
    "node": "#/node/{node}",
    "configuration": "#/node/{node}/configuration",
    "threads": "#/node/{node}/threads",
    "node log": "#/node/{node}/log",
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
            seen.open(where.format(node=node[0].address))
            seen.settle()
            assert seen.overflows() <= 0, name
            assert cut_off(seen) == [], name
            assert seen.findings() == [], name
        seen.unharmed()


def cut_off(seen: Watched) -> list[str]:
    """Return the tabs and headings that stand partly outside of what is seen."""
    found: list[str] = seen.page.evaluate("""() => [...document.querySelectorAll(".tabs a, .top nav a, h1, .filter a")]
        .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
        .map((each) => each.textContent)""")
    return found


def test_an_ended_job_tells_its_attempts_failures_and_metrics(seen: Watched) -> None:
    page = seen.page
    seen.open("#/job/ended-2/attempts")
    rows = page.get_by_role("region", name="Attempts", exact=True).locator("tbody tr")
    rows.nth(1).wait_for()
    found = rows.all_inner_texts()
    assert ["10.0.0.2:5801" in found[0], "10.0.0.1:5801" in found[1]] == [True, True]
    assert HOSTILE in rows.last.inner_text()
    assert HOSTILE in page.get_by_role("region", name="Failures", exact=True).inner_text()
    page.get_by_role("link", name="Metrics").click()
    page.locator(".plot canvas").nth(3).wait_for()
    page.get_by_role("link", name="Text and plan").click()
    page.get_by_text("FakeSource").first.wait_for()
    assert page.locator("main img, main script").count() == 0


def test_no_two_labels_of_an_axis_are_equal(seen: Watched) -> None:
    """Rates below 3 were labelled "1 1 1 0 0"."""
    seen.open("#/")
    labels = seen.page.evaluate("""async () => {
        const { KINDS, moments } = await import("/page/axis.js");
        const found = [];
        for (const [kind, { steps, write }] of Object.entries(KINDS)) {
            for (const step of steps.filter((each) => each < 1e12)) {
                const ticks = Array.from({ length: 9 }, (_, index) => Number((index * step).toFixed(6)));
                found.push([kind, step, ticks.map(write)]);
            }
        }
        for (const step of [1, 5, 30, 60, 600, 3600, 43200, 86400]) {
            found.push(["time", step, moments(Array.from({ length: 6 }, (_, index) => 1.7e9 + index * step))]);
        }
        return found;
    }""")
    assert len(labels) > 100
    equal = [(kind, step, texts) for kind, step, texts in labels if len(set(texts)) < len(texts)]
    assert equal == []


def test_a_graph_has_room_for_each_vertex(seen: Watched) -> None:
    seen.open("#/")
    laid = seen.page.evaluate("""async () => {
        const { layout } = await import("/page/layout.js");
        const boxes = Array.from({ length: 40 }, (_, id) => ({ id: String(id), width: 100 + id, height: 50 }));
        const edges = boxes.slice(1).map(({ id }) => [String(Math.floor((Number(id) - 1) / 3)), id]);
        edges.push(["0", "39"], ["1", "39"], ["7", "7"], ["gone", "3"]);
        const { width, height, places, paths } = layout(boxes, edges);
        const alone = layout([boxes[0]], []);
        const flat = [...places.values()].map((each) => [each.x, each.y, each.width, each.height]);
        return { width, height, paths: paths.length, alone: alone.width, places: flat };
    }""")
    places = laid["places"]
    assert (len(places), laid["alone"]) == (40, 104)
    for index, (x, y, width, height) in enumerate(places):
        assert 0 <= x - width / 2 <= x + width / 2 <= laid["width"]
        assert 0 <= y - height / 2 <= y + height / 2 <= laid["height"]
        for other_x, other_y, other_width, other_height in places[:index]:
            apart = abs(x - other_x) >= (width + other_width) / 2 or abs(y - other_y) >= (height + other_height) / 2
            assert apart


def test_ended_jobs_are_searched_and_sorted(seen: Watched) -> None:
    page = seen.page
    seen.open("#/jobs/finished")
    page.get_by_label("Job ID").fill("load 99")
    page.get_by_role("button", name="Find").click()
    page.get_by_text("Page 1 of 6 · 111 jobs").wait_for()
    first = "() => document.querySelector('tbody th small')?.textContent"
    page.get_by_role("button", name="Rows committed").click()
    page.wait_for_function(f"{first} === 'ended-99'")
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Rows committed")
    page.get_by_role("button", name="Rows committed").click()
    page.wait_for_function(f"{first} === 'ended-9999'")
    seen.page.reload()
    page.wait_for_function(f"{first} === 'ended-9999'")
    page.get_by_role("link", name="Show all").click()
    page.get_by_text("10,000 jobs").wait_for()


def test_a_phone_shows_no_row_without_content(browser: Any, node: tuple[Node, str, Path]) -> None:
    with watched(browser, node[1], width=390) as seen:
        seen.open("#/jobs/finished/FINISHED")
        seen.settle()
        assert "Error" not in seen.page.locator("tbody tr").first.inner_text()
        assert seen.page.locator("td[data-title=Error]").first.is_hidden()
        seen.open("#/jobs/finished/FAILED")
        seen.settle()
        assert seen.page.locator("td[data-title=Error]").first.is_visible()
        seen.page.get_by_label("Sort Ended jobs").select_option("duration desc")
        seen.page.wait_for_function("() => location.hash.includes('sort=duration&order=desc')")
        seen.unharmed()


def test_times_are_written_in_the_zone_that_is_chosen(browser: Any, node: tuple[Node, str, Path]) -> None:
    with watched(browser, node[1], zone="Asia/Tokyo") as seen:
        seen.open("#/job/ended-2")
        seen.settle()
        job = node[0].job("ended-2")
        at = datetime.fromtimestamp(job["createTimestamp"] / 1_000, UTC)
        assert seen.page.get_by_label("Time zone").input_value() == "Asia/Tokyo"
        assert f"submitted {at + timedelta(hours=9):%Y-%m-%d %H:%M:%S}" in seen.text()
        seen.page.get_by_label("Time zone").select_option("UTC")
        seen.wait_text(f"submitted {at:%Y-%m-%d %H:%M:%S}")
        seen.open("#/jobs")
        assert seen.page.get_by_label("Time zone").input_value() == "UTC"
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
    page.get_by_label("Job ID").fill("ended-7")
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
    page.get_by_role("link", name="Submit", exact=True).wait_for()  # shown once the permissions are known
    for _ in range(12):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent") == "Submit":
            break
    else:
        raise AssertionError("no link to submit a job is reached by the keyboard")
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


def act(seen: Watched, deed: str) -> None:
    """Press a button of the job, and the one that confirms it."""
    seen.page.get_by_role("button", name=deed, exact=True).click()
    seen.page.get_by_role("dialog").get_by_role("button", name=deed, exact=True).click()


def wait_state(seen: Watched, state: str) -> None:
    seen.page.locator("h1 .pill", has_text=state).wait_for(timeout=2 * WAIT_MS)


def each_tab_shows_something(seen: Watched) -> None:
    page = seen.page
    for tab, shown in (
        ("Metrics", "Bytes read per second"),
        ("Attempts", "no. 1"),
        ("Text and plan", "checkpoint storage"),
        ("Checkpoints", "Age of the last"),
        ("Log", "attempt 1 is running"),
        ("Options", "checkpoint.interval"),
    ):
        page.get_by_role("link", name=tab, exact=True).click()
        seen.wait_text(shown)
        assert seen.findings() == [], tab


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
    page.locator(".vertex text.load", has_text="busy").first.wait_for()
    page.get_by_role("region", name="Vertices of pipeline 1").wait_for()
    assert seen.findings() == []
    each_tab_shows_something(seen)
    act(seen, "Take a savepoint")
    page.get_by_role("dialog").get_by_text("is complete").wait_for()
    page.keyboard.press("Escape")
    act(seen, "Stop with a savepoint")
    wait_state(seen, "savepoint done")
    rows = len(ids(target))
    assert 0 < rows < 2_000
    page.get_by_role("link", name="Restore…").click()
    page.get_by_role("heading", name="Restore a job").wait_for()
    assert page.get_by_label("resume the job with this ID").is_checked()
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
    seen.wait_text("2 problems")
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
    seen.page.get_by_role("button", name="Check").click()
    seen.wait_text("nightly.sql:1:16")


def test_a_submitted_job_shows_its_warnings_before_it_is_opened(seen: Watched) -> None:
    seen.open("#/submit")
    submit(seen, "source { FakeSource { rwo = 2, schema { fields { id = int } } } }\nsink { Console {} }", "warned-1")
    seen.page.get_by_role("heading", name="Submitted, with 1 warning").wait_for()
    assert "has no option 'rwo'" in seen.text()
    seen.page.get_by_role("button", name="Open the job").click()


def test_several_jobs_are_stopped_at_once(seen: Watched, node: tuple[Node, str, Path]) -> None:
    """The last test: the history, which is full, loses its oldest jobs for these."""
    page = seen.page
    for number in range(3):
        node[0].submit(WAITING.format(out=node[2]), f"waits-{number}")
    seen.open("#/jobs")
    page.get_by_label("Choose waits-0").check()
    page.get_by_label("Choose waits-2").check()
    page.get_by_text("2 jobs chosen").wait_for()
    assert seen.findings() == []
    group = page.get_by_role("group", name="With the chosen jobs")
    group.get_by_role("button", name="Take a savepoint").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Take a savepoint").click()
    dialog.get_by_text("Accepted for 0 of 2 jobs").wait_for()
    assert dialog.get_by_text("is not running").count() == 2, "each refusal names its job"
    assert seen.findings() == []
    page.keyboard.press("Escape")
    group.get_by_role("button", name="Stop at once").click()
    dialog.get_by_role("button", name="Stop at once").click()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    dialog.get_by_text("Accepted for 2 jobs").wait_for()  # It stays open although its jobs have left the list.
    page.keyboard.press("Escape")
    assert page.locator("tbody th small").inner_text() == "waits-1"
    assert node[0].ask("POST", "/stop-job", {"jobId": "waits-1", "force": True})[0] == 200
