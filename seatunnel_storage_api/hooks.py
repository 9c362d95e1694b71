"""Hooks that plugins for checkpoint storages and secret stores implement."""

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from seatunnel_storage_api.secret_store import SecretStore
    from seatunnel_storage_api.storage import CheckpointStorageFactory

hookspec = pluggy.HookspecMarker("seatunnel")
hookimpl = pluggy.HookimplMarker("seatunnel")


class Hooks:
    """Hooks for plugins; each plugin implements one hook."""

    @hookspec(firstresult=True)
    def seatunnel_checkpoint_storage(self) -> "CheckpointStorageFactory":
        """Return the factory of the plugin's storage."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def seatunnel_secret_store(self) -> "SecretStore":
        """Return the plugin's secret store."""
        raise NotImplementedError


def hooks_of(point: EntryPoint) -> Any:
    """Load the plugin of an entry point, and return its hooks by name. Raises any error of the plugin."""
    manager = pluggy.PluginManager("seatunnel")
    manager.add_hookspecs(Hooks)
    manager.register(point.load(), name=point.name)
    return manager.hook
