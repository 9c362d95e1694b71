"""The process that handles requests beside an agent."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize("stay", [[], ["--stay"]], ids=["one request", "stays"])
def test_a_response_that_nobody_reads_ends_the_process_without_a_traceback(stay: list[str]) -> None:
    """Its stderr is the log of the agent, which was killed while the request was handled."""
    request = {"do": "split", "body": "[]", "limit_s": 60}
    with subprocess.Popen(
        [sys.executable, "-m", "seatunnel_core.server.aside", *stay],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as aside:
        assert aside.stdin is not None
        assert aside.stdout is not None
        assert aside.stderr is not None
        aside.stdout.close()
        aside.stdin.write(json.dumps(request).encode() + b"\n")
        aside.stdin.close()
        assert aside.stderr.read().decode() == ""
        assert aside.wait() == 1
