"""Storage of ``type: localfile``: the deprecated name of ``type: hdfs`` with ``storage.type: local``."""

import itertools
import warnings
from collections.abc import Mapping

from seatunnel_storage_hdfs import local

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory

BACKEND = "localfile"


class LocalFileStorageFactory(CheckpointStorageFactory):
    """Factory of the storage of ``type: localfile``. Logs its replacement once per process."""

    factory_identifier = "localfile"

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        storage = local.create(configuration, BACKEND)
        shared.warn(self.idle_keys(configuration).values())
        _say_once(replacement(storage.namespace, storage.max_retained))
        return storage

    def idle_keys(self, configuration: Mapping[str, str]) -> Mapping[str, str]:
        return {key: sentence for key in configuration for sentence in shared.unknown_keys({key: ""}, ())}


def replacement(namespace: str, max_retained: int) -> str:
    """Return the replacement configuration, which uses the same files and code."""
    return f"""the checkpoint storage localfile is deprecated: hdfs keeps the same files. Write in seatunnel.yaml
seatunnel:
  engine:
    checkpoint:
      storage:
        type: hdfs
        max-retained: {max_retained}
        plugin-config:
          storage.type: local
          namespace: {namespace}"""


_times_said = itertools.count()


def _say_once(sentence: str) -> None:
    """Log a warning for users, and issue a Python warning, which only developers see."""
    if next(_times_said) == 0:
        shared.warn([sentence])
        warnings.warn(sentence, DeprecationWarning, stacklevel=3)


@hookimpl
def seatunnel_checkpoint_storage() -> CheckpointStorageFactory:
    """Return the factory of this plugin."""
    return LocalFileStorageFactory()
