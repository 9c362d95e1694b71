"""The kit on every broken storage, which has to fail, and on the honest one; ``test_broken_storages.py`` runs it."""

from pathlib import Path

import pytest

from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance, DictionaryBackdoor, FolderBackdoor
from seatunnel_storage_api.testing.given import StorageFixtures
from seatunnel_storage_api.testing.promises import promises_of
from tests.seatunnel_storage_api.broken import naming, reading, writing
from tests.seatunnel_storage_api.broken.given import BROKEN, PASSWORD, SECRET, InMemory

assert BROKEN, (naming, reading, writing)


class Broken(StorageFixtures):
    kind: type[CheckpointStorageFactory] = InMemory
    secrets = (SECRET,)
    large_state_bytes = 8 * 2**20
    crashes = 1

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return self.kind()

    @pytest.fixture
    def configuration(self, tmp_path: Path) -> dict[str, str]:
        return {"namespace": f"{tmp_path}/", PASSWORD: SECRET}

    @pytest.fixture
    def backdoor(self, factory: CheckpointStorageFactory, tmp_path: Path) -> Backdoor:
        return DictionaryBackdoor(factory.blobs) if isinstance(factory, InMemory) else FolderBackdoor(tmp_path)


def parts(promise: int) -> tuple[type[StorageFixtures], ...]:
    """Those of the kit that have a test of the promise in its own name."""
    every = [part for part in CheckpointStorageConformance.__bases__ if issubclass(part, StorageFixtures)]
    return tuple(part for part in every if any(promises_of(test) == (promise,) for test in vars(part)))


class TestHonest(Broken, CheckpointStorageConformance):
    backend = "Honest"


for name, (promise, factory) in BROKEN.items():
    globals()[f"Test{name}"] = type(f"Test{name}", (Broken, *parts(promise)), {"backend": name, "kind": factory})
