"""``seatunnel plugins``: lists all installed plugins with their packages, and whether they can be used."""

from collections.abc import Iterator

from seatunnel_core.installing import install_command
from seatunnel_core.registry import lookup
from seatunnel_core.registry.lookup import Plugin
from seatunnel_storage_api.discovery import PluginState
from seatunnel_storage_api.discovery import list_plugins as list_storages

_USABLE = ("ok", "needs ")
_Line = tuple[str, str, str]
"""Name, package with version, and status: ``ok``, missing requirements, or the reason why it cannot be used."""


def list_plugins() -> bool:
    """Print every plugin, and return True if all of them can be used."""
    groups = dict(_groups())
    every = [line for lines in groups.values() for line in lines]
    name_width = max((len(name) for name, _, _ in every), default=0)
    package_width = max((len(package) for _, package, _ in every), default=0)
    for heading, lines in groups.items():
        print(f"{heading}:")
        if not lines:
            print("  none is installed")
        for name, package, state in lines:
            print(f"  {name:<{name_width}}  {package:<{package_width}}  {state}")
    return all(state.startswith(_USABLE) for _, _, state in every)


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
    plugins = list(lookup.plugins())
    for kind in lookup.GROUPS:
        yield (
            f"{kind}s",
            [
                (plugin.identifier, f"{plugin.distribution} {plugin.version}", _state(plugin))
                for plugin in plugins
                if plugin.kind == kind
            ],
        )


def _state(plugin: Plugin) -> str:
    if plugin.state != "ok" or not plugin.lacking:
        return plugin.state
    own = plugin.distribution == "seatunnel-core"
    how = install_command(plugin.extra) if own else f"pip install '{plugin.distribution}[{plugin.extra}]'"
    return f"needs {', '.join(plugin.lacking)}: {how}"
