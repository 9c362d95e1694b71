"""How Spark is configured, whose session it is, and what is said when it cannot be used."""

import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyspark
import pytest
from py4j import java_gateway

from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting import gateway, session
from seatunnel_core.spark.starting.session import refuse_connect
from seatunnel_core.spark.starting.settings import SparkSettings, java_options, jvm_flags, with_task_failures


def options_of(tmp_path: Path, **settings: Any) -> dict[str, str]:
    made = session.configuration(SparkSettings(cache=tmp_path, **settings), None)
    return dict(made.getAll())


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("local", "local[1,4]"),
        ("local[3]", "local[3,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://host:7077", "spark://host:7077"),
        ("yarn", "yarn"),
    ],
)
def test_a_task_has_several_attempts_on_a_local_master_too(given: str, used: str) -> None:
    assert with_task_failures(given) == used


def test_the_users_options_win(tmp_path: Path) -> None:
    options = options_of(tmp_path, parallelism=3)
    assert options["spark.master"] == "local[3,4]"
    assert options["spark.ui.enabled"] == "false"
    options = options_of(tmp_path, options={"spark.master": "local[2]", "spark.ui.enabled": "true", "spark.x.y": "z"})
    assert options["spark.master"] == "local[2,4]"
    assert options["spark.ui.enabled"] == "true"
    assert options["spark.x.y"] == "z"


def test_a_local_spark_listens_on_loopback_alone(tmp_path: Path) -> None:
    options = options_of(tmp_path)
    assert options["spark.driver.bindAddress"] == options["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in options_of(tmp_path, options={"spark.master": "spark://host:7077"})
    assert options_of(tmp_path, options={"spark.driver.host": "10.0.0.1"})["spark.driver.host"] == "10.0.0.1"


def test_java_options_come_from_the_environment_and_the_command_line() -> None:
    assert java_options({"JAVA_OPTS": "-Xmx2g '-Dname=two words'"}, ["-Da=b -Dc=d"]) == (
        "-Xmx2g",
        "-Dname=two words",
        "-Da=b",
        "-Dc=d",
    )


@pytest.mark.parametrize(
    ("settings", "quick"),
    [
        ({}, True),
        ({"java_options": ("-Dx=y",)}, True),
        ({"on_frames": True}, False),
        ({"java_options": ("-Xmx4g",)}, False),
        ({"java_options": ("-XX:+UseG1GC",)}, False),
        ({"options": {"spark.driver.memory": "4g"}}, False),
        ({"options": {"spark.driver.extraJavaOptions": "-XX:+UseZGC"}}, False),
    ],
)
def test_the_quick_flags_are_for_a_jvm_that_moves_no_rows(settings: dict[str, Any], quick: bool) -> None:
    flags = jvm_flags(SparkSettings(**settings), None)
    assert ("-XX:TieredStopAtLevel=1" in flags) is quick
    assert ("-XX:+UseSerialGC" in flags) is quick


def test_the_heap_flag_becomes_sparks_own_option(tmp_path: Path) -> None:
    """Spark refuses -Xmx among the Java options of the driver."""
    options = options_of(tmp_path, java_options=("-Xmx3g", "-Dname=two words"))
    assert options["spark.driver.memory"] == "3g"
    assert "-Xmx" not in options["spark.driver.extraJavaOptions"]
    assert '"-Dname=two words"' in options["spark.driver.extraJavaOptions"]


def test_spark_connect_is_refused_with_the_alternative(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlatformError, match=r"Spark Connect session has no job tags.*local\[\*\] or spark://"):
        refuse_connect(SparkSettings(options={"spark.remote": "sc://host"}))
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(PlatformError, match=r"remove spark\.remote and SPARK_REMOTE"):
        refuse_connect(SparkSettings())


def test_the_applications_session_is_used_and_left_open(backend: SparkBackend) -> None:
    guest = SparkBackend(SparkSettings())
    guest.start()
    assert guest.context is backend.context
    guest.stop()
    assert backend.context.parallelize([1], 1).count() == 1
    with pytest.raises(PlatformError, match="not started or has stopped"):
        _ = guest.context


def test_a_second_session_of_its_own_is_refused(backend: SparkBackend) -> None:
    with pytest.raises(PlatformError, match="already has a Spark session"):
        SparkBackend(SparkSettings(adopt=False)).start()


def test_a_lost_connection_is_not_logged_by_the_root_logger(caplog: pytest.LogCaptureFixture) -> None:
    """A JVM that is killed resets its connections while a call waits; py4j logs that as an error with a traceback."""
    gateway.keep_to_its_logger()
    with socket.create_server((session.LOOPBACK, 0)) as server:

        def reset() -> None:
            connection, _ = server.accept()
            connection.recv(64)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

        peer = threading.Thread(target=reset)
        peer.start()
        client = java_gateway.GatewayClient(session.LOOPBACK, server.getsockname()[1])
        client.send_command("a call\n", retry=False)
        peer.join()
    said = [record.name for record in caplog.records if record.message == "Exception while sending command."]
    assert said == ["py4j.java_gateway"]


NOTEBOOK = """
import os, signal, sys, time
sys.path.insert(0, {modules!r})
from pathlib import Path
from pyspark import SparkContext, cloudpickle
import watched
from watched import Numbers
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting.settings import SparkSettings

cloudpickle.register_pickle_by_value(watched)
settings = SparkSettings(parallelism=1, cache=Path({cache!r}))

def run(backend):
    return len(backend.inspect(Numbers(), [{{"name": "a"}}], PlanningContext(parallelism=1)))

backend = SparkBackend(settings)
backend.start()
print("ran", run(backend))
other = SparkBackend(settings)
other.start()
backend.stop()
print("ran", run(other))  # a job that ends takes no other one's Spark away
other.stop()
backend.start()
print("ran", run(backend))
os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
SparkContext._gateway.proc.wait()
try:
    run(backend)
except PlatformError as error:
    print(error)
backend.stop()
backend.start()
print("ran", run(backend))
backend.stop()
"""


@pytest.mark.torture
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_kernel_runs_again_after_a_stop_and_after_its_jvm_was_killed(tmp_path: Path) -> None:
    """What a notebook does: runs in one process, two at a time, too, and one more after the JVM has died."""
    code = NOTEBOOK.format(modules=str(Path(__file__).parents[1]), cache=str(tmp_path))
    # PySpark 4.0 leaves the sockets of a dead JVM to the garbage collector, which nobody else can close.
    forgiven = ",ignore:unclosed <socket:ResourceWarning" if pyspark.__version__.startswith("4.0.") else ""
    environment = {**os.environ, "PYTHONWARNINGS": f"error{forgiven}"}
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=220, check=False)
    lines = answer.stdout.splitlines()
    assert lines[:3] == ["ran 1"] * 3, answer.stderr
    assert lines[3:4], answer.stderr
    assert lines[3].startswith("Spark's JVM has ended, because it was killed, was stopped, or ran out of memory; see ")
    assert lines[4] == "ran 1", answer.stderr
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == "", "Spark's and Java's chatter belongs into the log file"


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_starts_without_pandas_and_values_of_numpy_still_reach_java() -> None:
    """PySpark imports pandas to find out whether what it hands to Java is numpy's."""
    code = """
        import sys
        from seatunnel_core.spark.backend import SparkBackend
        from seatunnel_core.spark.starting.settings import SparkSettings
        backend = SparkBackend(SparkSettings(parallelism=1))
        backend.start()
        print("pandas" in sys.modules)
        import numpy
        java = backend.context._jvm.java
        print(java.lang.Math.abs(numpy.int64(-3)), java.util.Arrays.toString(numpy.array([0.5, 2.0])))
        backend.stop()
    """
    command = [sys.executable, "-c", dedent(code)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=220, check=False)
    assert answer.stdout.splitlines() == ["False", "3 [0.5, 2.0]"], answer.stderr
