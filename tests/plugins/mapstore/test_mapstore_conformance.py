"""The storage of type ``map-store`` on local files keeps every promise."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from seatunnel_storage_mapstore.storage import MapStorage

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor
from tests.plugins.mapstore.mapstore_backdoor import EntriesBackdoor
from tests.plugins.mapstore.mapstore_cost import CountedBeneath


class TestMapStoreOnLocalFiles(CountedBeneath):
    backend = "map-store (local files)"
    model_examples = 6  # each step reads and writes logs, not single files

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("map-store")

    @pytest.fixture
    def configuration(self, tmp_path: Path) -> dict[str, str]:
        return {"namespace": f"{tmp_path}/", "storage.type": "local"}

    @pytest.fixture
    def backdoor(self, factory: CheckpointStorageFactory, configuration: dict[str, str]) -> Iterator[Backdoor]:
        with factory.create(configuration) as storage:
            assert isinstance(storage, MapStorage)
            yield EntriesBackdoor(storage)
