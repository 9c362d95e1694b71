"""The address of a master is tried before Spark is: a wrong one ended in a null pointer and "a bug in the engine"."""

import socket

import pytest

from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.starting.master import require_master
from tests.servers.process import deaf_port


def test_nobody_answers(caplog: pytest.LogCaptureFixture) -> None:
    master = f"spark://127.0.0.1:{deaf_port()}"
    with pytest.raises(
        PlatformError, match=rf"no Spark master responds at {master} \(Connection refused\)\. .*HOST:7077"
    ):
        require_master(master, patience_s=0.7)
    (said,) = (record.getMessage() for record in caplog.records)
    assert said == f"no Spark master responds at {master} (Connection refused); retrying for 1 s"


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(PlatformError, match=r"no Spark master responds at spark://no-such-host\.invalid:7077 \("):
        require_master("spark://no-such-host.invalid:7077", patience_s=0)


def test_one_of_several_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        require_master(f"spark://127.0.0.1:{deaf_port()},127.0.0.1:{master.getsockname()[1]}", patience_s=0)


@pytest.mark.parametrize("master", ["spark://host", "spark://:7077", "spark://host:", "spark://host:http", "spark://"])
def test_an_address_without_its_parts(master: str) -> None:
    with pytest.raises(PlatformError, match="is not a Spark master: expected spark://HOST:PORT"):
        require_master(master)


@pytest.mark.parametrize("master", ["", "local[2]", "yarn", "k8s://host:443"])
def test_others_are_left_to_spark(master: str) -> None:
    require_master(master, patience_s=0)
