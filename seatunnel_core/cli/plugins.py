"""``seatunnel plugins``: everything that is installed, from which package, and whether it can be used."""

from collections.abc import Iterator

from seatunnel_core.connectors import registry
from seatunnel_storage_api.discovery import PluginState
from seatunnel_storage_api.discovery import list_plugins as list_storages

_Line = tuple[str, str, str]
"""Name, package with its version, and ``ok`` or why it cannot be used."""


def list_plugins() -> bool:
    """Print every plugin; whether all of them can be used."""
    sound = True
    for heading, lines in _groups():
        print(f"{heading}:")
        if not lines:
            print("  none is installed")
        for name, package, state in lines:
            sound = sound and state == "ok"
            print(f"  {name:<20} {package:<32} {state}")
    return sound


def _groups() -> Iterator[tuple[str, list[_Line]]]:
    yield (
        "checkpoint storages (checkpoint.storage.type)",
        [
            (
                storage.identifier,
                f"{storage.distribution} {storage.version}",
                "ok" if storage.state is PluginState.READY else storage.problem,
            )
            for storage in list_storages()
        ],
    )
    plugins = list(registry.plugins())
    for kind in registry.GROUPS:
        yield (
            f"{kind}s",
            [
                (plugin.identifier, f"{plugin.distribution} {plugin.version}", plugin.state)
                for plugin in plugins
                if plugin.kind == kind
            ],
        )
