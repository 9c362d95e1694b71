"""The storage of type ``hdfs`` on local files keeps every promise."""

import errno
import os
import platform
from pathlib import Path

import pytest
from seatunnel_storage_hdfs import local

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


class TestHdfsOnLocalFilesWithDrafts(TestHdfsOnLocalFiles):
    """On a file system where a file cannot be without a name."""

    backend = "local files, with drafts"

    @pytest.fixture
    def factory(self, monkeypatch: pytest.MonkeyPatch) -> CheckpointStorageFactory:
        def refused(folder: str) -> int:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), folder)

        monkeypatch.setattr(local, "_open_nameless", refused)
        return load_factory("hdfs")
