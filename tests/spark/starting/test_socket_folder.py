"""The folder of Spark's sockets: created again when a cleaner of temporary files has removed it."""

import logging
from pathlib import Path

import pytest

from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting.socket_folder import socket_folder


def test_a_removed_folder_is_created_again_for_its_owner_alone(
    backend: SparkBackend, caplog: pytest.LogCaptureFixture
) -> None:
    """A streaming job whose folder was removed left one open file of the JVM behind with each work unit."""
    folder, away = Path(socket_folder()), Path(f"{socket_folder()}-away")
    folder.rename(away)
    try:
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                with backend._tagged("t"):
                    assert backend.context.parallelize([1], 1).collect() == [1]
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [str(folder) in record.getMessage() for record in caplog.records] == [True]
    finally:
        for left in folder.glob("*"):
            left.unlink()
        folder.rmdir()
        away.rename(folder)
