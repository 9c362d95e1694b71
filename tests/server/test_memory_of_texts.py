"""A submitted text that would take too much memory is an error with the name of the limit, in every format."""

import signal
import subprocess
import sys

import pytest

from seatunnel_core.errors import ConfigError
from seatunnel_core.server.aside.memory import BoundedMemory

START = """
import faulthandler, resource, signal
faulthandler.dump_traceback_later(100, exit=True)  # of a process that hangs, the failure has to show where
from seatunnel_core.config import file, limits
from seatunnel_core.server.aside import __main__ as aside, memory

before = resource.getrlimit(resource.RLIMIT_DATA)
file.SUBMITTED = limits.LOCAL  # as if the counters had a hole
most, small = memory.MOST_BYTES, '{"env": {"job.mode": "BATCH"}, "source": [{"plugin_name": "FakeSource", '
small += '"schema": {"fields": {"a": "int"}}}], "sink": [{"plugin_name": "Console"}]}'

def answered(do, format, text):
    asked = {"format": format, "text": text, "body": text, "variables": {}, "origin": "", "engine_file": ""}
    return aside.answered({**asked, "do": do})

assert "answer" in answered("plan", "json", small)
"""
PLAY = (
    START
    + """
for do, format, text in (
    ("plan", "hocon", "a = [" + "1," * 150_000 + "1]"),
    ("plan", "json", '{"a": [' + "1," * 150_000 + "1]}"),
    ("plan", "yaml", "a: [" + "b," * 150_000 + "1]"),
    ("check", "yaml", "a: [" + "b," * 150_000 + "1]"),
    ("encrypt", "json", '{"a": [' + "1," * 150_000 + "1]}"),
    ("split", "json", "[" + "[]," * 400_000 + "[]]"),
):
    memory.MOST_BYTES = 12 << 20
    found = answered(do, format, text)
    found = found.get("answer", found)
    print(do, format, found["code"], found.get("report", found.get("error")))
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    memory.MOST_BYTES = most
    assert "answer" in answered("plan", "json", small), "the process goes on"
"""
)
PLAY_SQL = (
    START
    + """
signal.alarm(30)
memory.MOST_BYTES = 12 << 20
print(answered("plan", "sql", "a " * 150_000 + ";")["error"])
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit needs Linux")
def test_memory_is_limited_and_the_process_goes_on() -> None:
    played = subprocess.run([sys.executable, "-c", PLAY], capture_output=True, text=True, timeout=200, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stderr == ""
    lines = played.stdout.splitlines()
    assert len(lines) == 6
    for line in lines:
        assert "CONFIG-ERROR memory limit exceeded: parsing this text needs more than 12 MiB" in line


@pytest.mark.skipif(sys.platform != "linux", reason="the limit needs Linux")
def test_memory_is_limited_for_sql() -> None:
    """CPython 3.11 may spin where sqlglot handles a MemoryError; then the alarm of a request ends the process."""
    played = subprocess.run([sys.executable, "-c", PLAY_SQL], capture_output=True, text=True, timeout=200, check=False)
    if played.returncode != -signal.SIGALRM:
        assert played.returncode == 0, played.stdout + played.stderr
        assert "memory limit exceeded: parsing this text needs more than 12 MiB" in played.stdout


def test_an_error_that_the_interpreter_lost_is_the_same() -> None:
    with pytest.raises(ConfigError, match="memory limit exceeded"), BoundedMemory():
        raise SystemError("error return without exception set")
