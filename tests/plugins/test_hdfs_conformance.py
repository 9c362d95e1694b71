"""The storage of type ``hdfs`` on local files keeps every promise."""

import platform
from pathlib import Path

import pytest

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance, FolderBackdoor


class TestHdfsOnLocalFiles(CheckpointStorageConformance):
    backend = "local files"
    backend_version = f"{platform.system()} {platform.release()}"

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("hdfs")

    @pytest.fixture
    def configuration(self, tmp_path: Path) -> dict[str, str]:
        return {"namespace": f"{tmp_path}/", "storage.type": "local"}

    @pytest.fixture
    def backdoor(self, tmp_path: Path) -> Backdoor:
        return FolderBackdoor(tmp_path)
