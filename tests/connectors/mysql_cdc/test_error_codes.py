"""Codes of errors that have a help page."""

import pytest

from seatunnel_core.capture_errors import CaptureSetupError, LogRemovedError
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.server_stub import AnsweringServer


def test_a_wrong_setting_has_a_help_page() -> None:
    settings = [("log_bin", "ON"), ("binlog_format", "STATEMENT")]
    server = AnsweringServer({"SHOW GLOBAL VARIABLES": settings, "SELECT VERSION()": [("8.0.15",)]})
    with pytest.raises(CaptureSetupError, match="binlog_format is STATEMENT") as raised:
        server.require_capturable()
    assert raised.value.code == "CAPTURE-SETUP"


def test_a_removed_log_has_a_help_page() -> None:
    server = AnsweringServer({"SHOW BINARY LOGS": [("bin.000009", 1)]})
    with pytest.raises(LogRemovedError, match=r"no longer has the log file bin\.000007") as raised:
        server.require_retained(LogPosition("bin.000007", 4))
    assert raised.value.code == "LOG-REMOVED"
