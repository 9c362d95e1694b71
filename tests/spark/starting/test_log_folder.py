"""Where a job's log of Spark and Java lies."""

from pathlib import Path

from seatunnel_core.spark.starting.log_folder import log_folder


def test_where_logs_go(tmp_path: Path) -> None:
    assert log_folder({"SEATUNNEL_HOME": str(tmp_path)}) == tmp_path / "logs"
    missing = {"SEATUNNEL_HOME": str(tmp_path / "missing"), "XDG_STATE_HOME": "/state"}
    assert log_folder(missing) == Path("/state/seatunnel/logs")
    assert log_folder({"XDG_STATE_HOME": "relative"}) == Path.home() / ".local/state/seatunnel/logs"
