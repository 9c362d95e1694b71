"""What is left to clear up when all rows are committed."""

import logging
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.errors import SinkError
from seatunnel_core.reporting.report import JobOutcome
from tests.runtime.ground import ALL, ground_in, run_through


@pytest.mark.parametrize("error", [SinkError("the server is away"), ConnectionRefusedError("the server is away")])
def test_a_server_that_is_away_at_the_very_end_fails_no_job(
    tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The job was recorded as finished, and then told as failed: nobody could go on with it."""

    def away(_self: Any, _place: Any) -> None:
        raise error

    monkeypatch.setattr(LocalFileSink, "clear", away)
    with ground_in(tmp_path) as ground, caplog.at_level(logging.WARNING, "seatunnel"):
        ground.work.mkdir(parents=True)
        report, _ = run_through(ground.run(ground.tables("a", rows_per_second=None)))
        assert report.outcome is JobOutcome.FINISHED, report
        assert ground.rows("a") == ALL
    assert "all rows are committed; remaining staged output could not be removed: the server is away" in caplog.text
