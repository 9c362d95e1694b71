"""``seatunnel -c FILE --ui``: the page of one job in the process that runs it, in a real browser."""

import re
from pathlib import Path

import pytest

from tests.page.browsing import chromium, watched
from tests.runtime.command import Command, fake_source, ids, job, parquet_sink
from tests.server.nodes import until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("browser"),
]

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/(#key=\S+)")


def test_a_local_job_is_watched_and_stopped(tmp_path: Path) -> None:
    env = "job.name = here, job.mode = BATCH, checkpoint.interval = 500, read_limit.rows_per_second = 40"
    text = job(env, [fake_source("numbers", rows=4_000, splits=800)], [parquet_sink("numbers", tmp_path / "out")])
    command = Command.of(tmp_path / "job", text)
    engine = command.begin("--ui")
    try:
        found = until("the address is printed", lambda: ADDRESS.search(engine.output))
        with chromium() as browser, watched(browser, found[1]) as seen:
            seen.open(found[2])
            seen.page.get_by_role("heading", name="here").wait_for()
            assert found[2] not in seen.page.url, "the key does not stay in the address"
            seen.page.wait_for_function("() => document.querySelector('.figures dd')?.textContent > '0'")
            seen.page.locator(".graph .vertex").nth(1).wait_for()
            assert seen.findings() == []
            seen.page.get_by_role("link", name="Checkpoints").click()
            seen.page.locator("tbody tr").first.wait_for()
            seen.page.get_by_role("button", name="Stop", exact=True).click()
            seen.page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
            seen.wait_text("The command that runs the job does not answer")
            seen.unharmed()
        assert engine.wait(60) == 130
    finally:
        engine.end()
    rows = ids(tmp_path / "out")
    assert rows == list(range(1, len(rows) + 1))
