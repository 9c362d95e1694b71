"""The example in ``examples/minimal_plugin``: installed as a stranger would, at most 40 lines, every promise kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_storage_api.discovery import PluginState, list_plugins, load_factory
from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance, FolderBackdoor
from tests.plugins import example


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with example.installed("minimal_plugin", tmp_path_factory.mktemp("site")):
        yield


def test_it_has_at_most_40_lines_of_code() -> None:
    lines = (example.EXAMPLES / "minimal_plugin" / "minimal_plugin.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 40


def test_it_is_listed(installed: None) -> None:
    (plugin,) = (info for info in list_plugins() if info.identifier == "minimal")
    assert (plugin.distribution, plugin.state) == ("seatunnel-storage-minimal", PluginState.READY)


class TestMinimalPlugin(CheckpointStorageConformance):
    model_examples = 5

    @pytest.fixture
    def factory(self, installed: None) -> CheckpointStorageFactory:
        return load_factory("minimal")

    @pytest.fixture
    def configuration(self, tmp_path: Path) -> dict[str, str]:
        return {"namespace": f"{tmp_path}/"}

    @pytest.fixture
    def backdoor(self, tmp_path: Path) -> Backdoor:
        return FolderBackdoor(tmp_path)
