"""Plugins are found by name, and a broken one hurts nobody else."""

import importlib
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from seatunnel_storage_api import discovery
from seatunnel_storage_api.discovery import PluginState
from seatunnel_storage_api.errors import StoragePluginError, UnknownStorageError
from seatunnel_storage_api.hooks import Hooks

Install = Callable[..., None]

READY = """
from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.memory import MemoryStorageFactory

@hookimpl
def seatunnel_checkpoint_storage():
    return MemoryStorageFactory()
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Lays out what pip would: a module, and the metadata of its distribution."""
    monkeypatch.syspath_prepend(str(tmp_path))
    count = iter(range(100))

    def lay_out(identifier: str, code: str, distribution: str | None = None) -> None:
        number = next(count)
        name = distribution or f"dist-{identifier}"
        module = f"{tmp_path.name.replace('-', '_')}_{number}"
        (tmp_path / f"{module}.py").write_text(code)
        folder = tmp_path / f"{name.replace('-', '_')}-1.2.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        with (folder / "entry_points.txt").open("a") as points:
            points.write(f"[{discovery.GROUP}]\n{identifier} = {module}\n")
        importlib.invalidate_caches()

    return lay_out


def test_a_plugin_is_found_by_name(install: Install) -> None:
    install("memory", READY)
    factory = discovery.load_factory("memory")
    assert factory.factory_identifier == "memory"
    assert discovery.load_factory("memory") is not factory


def test_only_what_is_named_is_loaded(install: Install) -> None:
    install("memory", READY)
    install("broken", "import sys; sys.modules['was_loaded'] = sys; raise ImportError('no such thing')")
    discovery.load_factory("memory")
    assert "was_loaded" not in sys.modules


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("raise SyntaxError('odd')", "SyntaxError: odd"),
        ("", "factory_identifier 'broken'"),
        (READY, "factory_identifier 'broken'"),
        (READY.replace("MemoryStorageFactory()", "'a text'"), "CheckpointStorageFactory"),
        (READY.replace("return MemoryStorageFactory()", "raise ValueError('inside')"), "ValueError: inside"),
        (READY.replace("storage():", "storage(more):"), "PluginValidationError"),
    ],
)
def test_a_broken_plugin_says_whose_it_is(install: Install, code: str, says: str) -> None:
    install("broken", code)
    with pytest.raises(StoragePluginError) as caught:
        discovery.load_factory("broken")
    assert "'broken' of dist-broken 1.2" in str(caught.value)
    assert says in str(caught.value)


def test_the_list_shows_every_plugin_with_its_state(install: Install) -> None:
    install("memory", READY)
    install("broken", "1 / 0")
    plugins = {info.identifier: info for info in discovery.list_plugins()}
    assert plugins["memory"].state is PluginState.READY
    assert (plugins["memory"].distribution, plugins["memory"].version) == ("dist-memory", "1.2")
    assert plugins["memory"].problem == ""
    assert plugins["broken"].state is PluginState.BROKEN
    assert "ZeroDivisionError" in plugins["broken"].problem
    assert list(plugins) == sorted(plugins)


def test_two_plugins_of_one_name_are_refused(install: Install) -> None:
    install("memory", READY, "one")
    install("memory", READY, "two")
    with pytest.raises(StoragePluginError, match="one and two"):
        discovery.load_factory("memory")
    assert {info.state for info in discovery.list_plugins() if info.identifier == "memory"} == {PluginState.BROKEN}


@pytest.mark.parametrize(
    ("identifier", "folder"),
    [
        ("hdfs", "seatunnel-storage-hdfs"),
        ("localfile", "seatunnel-storage-localfile"),
        ("map-store", "seatunnel-storage-mapstore"),
    ],
)
def test_a_plugin_of_ours_that_is_missing_comes_with_its_command(
    monkeypatch: pytest.MonkeyPatch, identifier: str, folder: str
) -> None:
    monkeypatch.setattr(discovery, "entry_points", lambda group: ())
    command = rf"pip install (./plugins/seatunnel-storage-hdfs )?\./plugins/{folder}$"
    with pytest.raises(UnknownStorageError, match=command):
        discovery.load_factory(identifier)


def test_an_unknown_name_gets_a_suggestion(install: Install) -> None:
    install("memory", READY)
    with pytest.raises(UnknownStorageError, match="Did you mean 'memory'"):
        discovery.load_factory("memry")
    with pytest.raises(UnknownStorageError) as caught:
        discovery.load_factory("zzz")
    assert "Did you mean" not in str(caught.value)
    assert "memory" in str(caught.value)


def test_an_entry_point_without_a_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("odd", "nothing_of_this_name", discovery.GROUP)
    monkeypatch.setattr(discovery, "entry_points", lambda group: (point, point))
    with pytest.raises(StoragePluginError, match="an unknown distribution"):
        discovery.load_factory("odd")


def test_the_hook_itself_is_no_plugin() -> None:
    with pytest.raises(NotImplementedError):
        Hooks().seatunnel_checkpoint_storage()
    with pytest.raises(NotImplementedError):
        Hooks().seatunnel_secret_store()
