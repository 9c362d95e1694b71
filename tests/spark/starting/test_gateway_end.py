"""The JVM of a Spark context that did not start."""

import subprocess
from types import SimpleNamespace

import pytest

from seatunnel_core.spark.starting import gateway


@pytest.mark.parametrize("command", ["cat", "trap '' HUP PIPE; while :; do sleep 1; done"])
def test_it_is_ended_even_if_it_hangs(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Nothing used it any more, and it stayed until the process ended, which may be a notebook."""
    context = pytest.importorskip("pyspark").SparkContext
    for name in ("_gateway", "_jvm", "_active_spark_context"):  # other tests of this process have a Spark
        monkeypatch.setattr(context, name, None)
    monkeypatch.setattr(gateway, "END_S", 60 if command == "cat" else 0.3)
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.close()
    gateway._end(SimpleNamespace(proc=process))
    assert process.returncode == (0 if command == "cat" else -9)
