"""What the log says of requests that the member port rejects."""

from pathlib import Path

import pytest

from seatunnel_core.control.signing import CLUSTER
from seatunnel_core.server.transport.rejections import REPORT_S, Rejections
from tests.server.test_rest import ask, config_of, leading


def test_a_node_of_another_cluster_is_logged_by_the_member_that_rejects_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    for _ in range(3):
        status, answer, _ = ask(agent, "GET", "/internal/v1/members", signed=True, **{CLUSTER: "other"})
        assert status == 401, answer
    logged = [each.message for each in caplog.records if "was rejected" in each.message]
    assert len(logged) == 1
    assert "not 'other'" in logged[0]


def test_each_reason_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    rejections = Rejections(lambda: now[0])
    for at, logged in ((0.0, 1), (1.0, 1), (REPORT_S, 2)):
        now[0] = at
        rejections.report("10.0.0.9", "another secret")
        rejections.report("10.0.0.9", "the request is signed for an earlier process")
        assert len(caplog.records) == logged
