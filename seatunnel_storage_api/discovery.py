"""Discovery of plugins by name.

A plugin is a distribution with an entry point in the group ``seatunnel.checkpoint_storage``. The entry point's name is
the storage's ``type`` in the configuration, and its value a module (or object) with one hook::

    from seatunnel_storage_api.discovery import hookimpl

    @hookimpl
    def seatunnel_checkpoint_storage() -> CheckpointStorageFactory:
        return MyFactory()

Only the requested plugin is loaded, so a broken plugin affects only configurations that use it.
"""

import difflib
import enum
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from attrs import frozen

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api import secret
from seatunnel_storage_api.errors import StoragePluginError, UnknownStorageError
from seatunnel_storage_api.hooks import hookimpl as hookimpl
from seatunnel_storage_api.hooks import hooks_of
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory

GROUP = "seatunnel.checkpoint_storage"

_OURS = {
    "hdfs": ["seatunnel-storage-hdfs"],
    "jdbc": ["seatunnel-storage-jdbc"],
    "localfile": ["seatunnel-storage-hdfs", "seatunnel-storage-localfile"],
    "map-store": ["seatunnel-storage-hdfs", "seatunnel-storage-mapstore"],
}
"""Plugins in this repository by type, each with the folders to install. They are not on a package registry."""


class PluginState(enum.Enum):
    """Status of a plugin."""

    READY = "ready"
    BROKEN = "broken"


@frozen(kw_only=True)
class PluginInfo:
    """An installed plugin."""

    identifier: str
    """``type`` of the storage in the configuration."""

    distribution: str
    version: str
    state: PluginState
    problem: str = ""
    """Reason why the plugin is broken; empty if it is ready."""


def load_factory(identifier: str) -> CheckpointStorageFactory:
    """Return the factory that an installed plugin registers under this name.

    Raises:
        UnknownStorageError: No plugin has this name. The message contains the package to install, or lists the
            installed plugins.
        StoragePluginError: The plugin cannot be loaded, its hook does not return a factory of this name, or two
            distributions register the name.
    """
    points = [point for point in _entry_points() if point.name == identifier]
    if not points:
        raise UnknownStorageError(_not_installed(identifier))
    if len(points) > 1:
        owners = " and ".join(sorted(_distribution(point)[0] for point in points))
        raise StoragePluginError(f"two plugins are named {identifier!r}: {owners}. Uninstall one of them")
    return _load(points[0])


def open_storage(identifier: str, configuration: Mapping[str, str], *, read_only: bool = False) -> CheckpointStorage:
    """Return a new storage of an installed plugin.

    Args:
        identifier: The ``type`` under which the storage's plugin is registered.
        configuration: The plugin's keys; see ``CheckpointStorageFactory.create``. Its errors are also raised. Values
            may refer to secrets in the environment or in files; see ``seatunnel_storage_api.secret``.
        read_only: True to open the storage for reading only: nothing is created, and no test write is made. A plugin
            that does not support the key ``read-only`` ignores this.

    Raises:
        UnknownStorageError: As ``load_factory``.
        StoragePluginError: As ``load_factory``.
        StorageConfigurationError: A value refers to a variable or a file that does not exist.
    """
    asked = {**configuration, shared.READ_ONLY: "true"} if read_only else configuration
    return load_factory(identifier).create(secret.resolved(asked))


def list_plugins() -> tuple[PluginInfo, ...]:
    """Return all installed plugins, sorted by identifier. Loads each one; never raises for a broken plugin."""
    return tuple(_info(point) for point in _entry_points())


def _info(point: EntryPoint) -> PluginInfo:
    problem = ""
    try:
        load_factory(point.name)
    except StoragePluginError as error:
        problem = str(error)
    distribution, version = _distribution(point)
    return PluginInfo(
        identifier=point.name,
        distribution=distribution,
        version=version,
        state=PluginState.BROKEN if problem else PluginState.READY,
        problem=problem,
    )


def _load(point: EntryPoint) -> CheckpointStorageFactory:
    distribution, version = _distribution(point)
    plugin = f"the plugin {point.name!r} of {distribution} {version}"
    try:
        factory = hooks_of(point).seatunnel_checkpoint_storage()
    except Exception as cause:  # a plugin is third-party code: it may raise anything
        raise StoragePluginError(
            f"{plugin} cannot be loaded: {type(cause).__name__}: {cause}. Reinstall it, or install a different version"
        ) from cause
    if not isinstance(factory, CheckpointStorageFactory) or factory.factory_identifier != point.name:
        raise StoragePluginError(
            f"{plugin} does not provide a CheckpointStorageFactory with the factory_identifier {point.name!r}: "
            f"{point.value} must have the hook seatunnel_checkpoint_storage, which returns the factory"
        )
    return factory


def _entry_points() -> Iterator[EntryPoint]:
    """Return the entry points, sorted by name, each once, even if a distribution is both installed and on the path."""
    unique = {(point.name, point.value, _distribution(point)[0]): point for point in entry_points(group=GROUP)}
    return (unique[key] for key in sorted(unique))


def _distribution(point: EntryPoint) -> tuple[str, str]:
    return (point.dist.name, point.dist.version) if point.dist else ("an unknown distribution", "")


def _not_installed(identifier: str) -> str:
    if identifier in _OURS:
        return (
            f"the checkpoint storage {identifier!r} is not installed: in a clone of this project, run "
            f"pip install {' '.join(f'./plugins/{name}' for name in _OURS[identifier])}"
        )
    installed = sorted({point.name for point in _entry_points()})
    close = difflib.get_close_matches(identifier, [*installed, *_OURS], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return (
        f"no installed plugin is a checkpoint storage named {identifier!r}; installed: "
        f"{', '.join(installed) or 'none'}.{hint} Your own plugin must register in the entry point group {GROUP}"
    )
