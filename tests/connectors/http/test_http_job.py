"""Whole jobs that read from a service and send to one, with tasks in this process."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seatunnel_core as st
from seatunnel_core.cli.main import main
from tests.runtime.command import Command, column, engine_file, ids, parquet_sink, staged
from tests.runtime.command import job as job_text
from tests.runtime.ground import ALL, ROWS, committed, ground_in, kill, until
from tests.servers.http_service import Asked, HttpService, http_service

PAGE = 25


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with ground_in(tmp_path):
        yield tmp_path


def serving(service: HttpService) -> HttpService:
    """One that has the numbers from 1 to ROWS, in pages."""

    def numbers(asked: Asked) -> list[dict[str, int]]:
        first = (int(asked.query["page"]) - 1) * PAGE
        return [{"id": number} for number in ALL[first : first + PAGE]]

    service.at["/numbers"] = numbers
    service.at["/rows"] = lambda _: ""
    return service


def reading(port: int, folder: Path, pageing: dict[str, Any], **env: Any) -> st.Job:
    settings = {"checkpoint.interval": 40, "job.retry.times": 0, "parallelism": 2}
    job = st.Job("pages", {**settings, **env})
    options = {"url": f"http://localhost:{port}/numbers", "schema": {"fields": {"id": "bigint"}}, "replayable": True}
    source = job.source("Http", {**options, "retry": 0, "pageing": pageing}, name="in")
    source.sink("LocalFile", path=f"{folder}/out", file_format_type="parquet")
    return job


@pytest.mark.torture
@pytest.mark.parametrize("pageing", [{"total_page_size": ROWS // PAGE}, {"batch_size": PAGE}], ids=["total", "walk"])
def test_a_killed_job_goes_on_with_every_row_once(folder: Path, pageing: dict[str, Any]) -> None:
    """A walk is one split: whoever kills it in the middle gets all of it from the second life."""
    with http_service() as service:
        serving(service)
        engine = engine_file(folder)
        job = reading(service.port, folder, pageing, **{"read_limit.rows_per_second": 150})
        with job.submit(engine_config=engine) as first:
            if "total_page_size" in pageing:
                until(lambda: committed(first._run) >= ROWS // 6, first._run)
            else:
                until(lambda: len(service.asked) >= 4, first._run)
            kill(first._run)
            job = reading(service.port, folder, pageing)
            with job.submit(restore=first.job_id, engine_config=engine) as second:
                second.result()
    assert column(folder / "out", "id") == ALL
    assert staged(folder / "out") == []


def test_a_service_that_dies_and_returns_costs_time_and_no_rows(folder: Path) -> None:
    with http_service() as service:
        serving(service)
        env = {"read_limit.rows_per_second": 600, "job.retry.times": 30, "job.retry.interval.seconds": 1}
        job = reading(service.port, folder, {"total_page_size": ROWS // PAGE}, **env)
        handle = job.submit(engine_config=engine_file(folder))
        until(lambda: committed(handle._run) >= ROWS // 6, handle._run)
    with handle:
        time.sleep(0.5)
        with http_service(port=service.port) as again:
            serving(again)
            handle.result()
            assert again.of("/numbers")
    assert column(folder / "out", "id") == ALL
    assert staged(folder / "out") == []


def test_a_streaming_job_asks_again_and_again(folder: Path) -> None:
    with http_service() as service:
        serving(service)
        job = st.Job("polls", {"job.mode": "STREAMING", "checkpoint.interval": 40})
        options = {"url": f"{service.url}/numbers?page=1", "schema": {"fields": {"id": "bigint"}}}
        source = job.source("Http", {**options, "poll_interval_millis": 50}, name="in")
        source.sink("Http", url=f"{service.url}/rows", array_mode=True, batch_size=100)
        with job.submit(engine_config=engine_file(folder)) as handle:
            until(lambda: len([each for each in service.of("/rows") if each.body]) >= 3, handle._run)
            handle.cancel()
            handle.wait()
        sent = [row["id"] for asked in service.of("/rows") if asked.body for row in asked.json]
        assert sent[: 3 * PAGE] == ALL[:PAGE] * 3
        assert len(service.of("/numbers")) >= 3


def test_a_body_with_the_placeholder_of_the_page_is_sent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--check`` takes it as it stands, and sends nothing: a POST may do anything."""
    with http_service() as service:
        service.at["/search"] = lambda asked: {"hits": [{"id": asked.json["from"]["page"]}]}
        job = f"""
source {{ Http {{
  url = "{service.url}/search", method = POST, content_field = "$.hits[*]", schema {{ fields {{ id = bigint }} }}
  body = \"\"\"{{"from": {{"page": ${{page}}}}}}\"\"\"
  pageing {{ total_page_size = 3, use_placeholder_replacement = true }} }} }}
sink {{ Console {{ }} }}
"""
        (folder / "job.conf").write_text(job)
        command = ["-c", str(folder / "job.conf"), "--engine-config", str(engine_file(folder)), "--check", "--strict"]
        assert main(command) == 0, capsys.readouterr().err
        assert service.asked == []
        options = {"url": f"{service.url}/search", "method": "POST", "content_field": "$.hits[*]"}
        source = st.Job("search", {}).source(
            "Http",
            {**options, "body": '{"from": {"page": ${page}}}', "schema": {"fields": {"id": "bigint"}}},
            pageing={"total_page_size": 3, "use_placeholder_replacement": True},
        )
        source.sink("LocalFile", path=f"{folder}/out", file_format_type="parquet")
        source.job.run(engine_config=engine_file(folder))
        assert sorted(asked.json["from"]["page"] for asked in service.asked) == [1, 2, 3]
    assert column(folder / "out", "id") == [1, 2, 3]


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_process_that_is_killed_goes_on_with_every_row_once(tmp_path: Path) -> None:
    with http_service() as service:
        serving(service)
        source = f"""
  Http {{ plugin_output = a, url = "{service.url}/numbers", schema {{ fields {{ id = bigint }} }}, replayable = true
    pageing {{ total_page_size = {ROWS // PAGE}, batch_size = {PAGE} }} }}"""
        env = "job.mode = BATCH, parallelism = 2, checkpoint.interval = 300, read_limit.rows_per_second = 80"
        command = Command.of(tmp_path, job_text(env, [source], [parquet_sink("a", tmp_path / "out")]))
        first = command.begin()
        while len(ids(tmp_path / "out")) < ROWS // 6:
            assert first.exit_code is None, first.output
            assert first.age_s < 300
            time.sleep(0.05)
        first.kill()
        first.end()
        assert len(ids(tmp_path / "out")) < ROWS
        second = command.resume()
        assert second.wait(300) == 0, second.output
    assert column(tmp_path / "out", "id") == ALL
    assert staged(tmp_path / "out") == []
