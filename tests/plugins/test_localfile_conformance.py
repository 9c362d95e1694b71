"""The deprecated storage of type ``localfile`` keeps every promise, as promise 14 asks."""

from pathlib import Path

import pytest

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance, FolderBackdoor


@pytest.mark.filterwarnings("ignore:the checkpoint storage localfile is deprecated:DeprecationWarning")
class TestLocalfile(CheckpointStorageConformance):
    backend = "localfile"
    model_examples = 5  # the code is that of the local backend, which plays more

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("localfile")

    @pytest.fixture
    def configuration(self, tmp_path: Path) -> dict[str, str]:
        return {"namespace": f"{tmp_path}/"}

    @pytest.fixture
    def backdoor(self, tmp_path: Path) -> Backdoor:
        return FolderBackdoor(tmp_path)
