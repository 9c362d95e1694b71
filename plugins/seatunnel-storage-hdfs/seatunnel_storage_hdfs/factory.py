"""Storage of ``type: hdfs``, which selects the backend for a configuration."""

from collections.abc import Mapping

from seatunnel_core.clients.keys import DEFAULT_FS
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_hdfs.backends import BACKENDS, STORAGE_TYPE, of_type

_SHARED = frozenset({STORAGE_TYPE, DEFAULT_FS})
"""Keys that select the backend."""


class HdfsStorageFactory(CheckpointStorageFactory):
    """Factory of the storage of ``type: hdfs``."""

    factory_identifier = "hdfs"

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        shared.warn(self.idle_keys(configuration).values())  # check this first: a missing key may be misspelt
        return of_type(storage_type(configuration)).create(configuration)

    def idle_keys(self, configuration: Mapping[str, str]) -> Mapping[str, str]:
        backend = of_type(storage_type(configuration))
        idle: dict[str, str] = {}
        for key in configuration:
            if backend.knows(key):
                continue
            if any(other.knows(key) for other in BACKENDS.values()):
                idle[key] = f"the key {key!r} in plugin-config has no effect on {backend.name}"
            for sentence in shared.unknown_keys({} if key in idle else {key: ""}, {*_SHARED, *backend.keys}):
                idle[key] = sentence
        return idle


def storage_type(configuration: Mapping[str, str]) -> str:
    """Return the configured backend, in lower case; ``hdfs`` with ``file:///`` means ``local``."""
    kind = (configuration.get(STORAGE_TYPE) or "local").lower()
    file_system = configuration.get(DEFAULT_FS) or ""
    on_files = file_system.startswith("file:/")
    if kind == "local" and file_system and not on_files:
        raise StorageConfigurationError(
            f"{STORAGE_TYPE} is local, but {DEFAULT_FS} is {file_system!r}. Write {DEFAULT_FS}: file:/// or remove it"
        )
    if kind == "hdfs" and not file_system:
        raise StorageConfigurationError(
            f"{STORAGE_TYPE} is hdfs, but {DEFAULT_FS} is missing. Write {DEFAULT_FS}: file:/// for local files, or "
            f"{DEFAULT_FS}: hdfs://host:port for a cluster"
        )
    return "local" if kind == "hdfs" and on_files else kind


@hookimpl
def seatunnel_checkpoint_storage() -> CheckpointStorageFactory:
    """Return the factory of this plugin."""
    return HdfsStorageFactory()
