"""What every broken storage starts from, and the list of them all."""

import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

from seatunnel_storage_hdfs.local import LocalFileStorage

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory

PASSWORD = "password"
SECRET = "s3cr3t-and-long"

BROKEN: dict[str, tuple[int, type[CheckpointStorageFactory]]] = {}
"""By name: the promise that it breaks, and the factory that makes it."""

Kind = TypeVar("Kind", bound=type)


class InMemory(CheckpointStorageFactory):
    """Honest, if ``storage`` is; knows the key ``password``."""

    factory_identifier = "broken"
    storage: type[MemoryStorage] = MemoryStorage

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        storage = self.storage(
            self.blobs, namespace=shared.namespace(configuration), max_retained=shared.max_retained(configuration)
        )
        storage.password = configuration.get(PASSWORD)  # type: ignore[attr-defined]
        shared.warn(shared.unknown_keys(configuration, {PASSWORD}))
        return storage


class OnDisk(CheckpointStorageFactory):
    """Honest, if ``storage`` is."""

    factory_identifier = "broken"
    storage: type[LocalFileStorage] = LocalFileStorage

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        return self.storage(
            backend="broken",
            namespace=shared.namespace(configuration),
            max_retained=shared.max_retained(configuration),
        )


def breaks(promise: int) -> Callable[[Kind], Kind]:
    """Puts a storage, or a factory, on the list."""

    def note(kind: Kind) -> Kind:
        factory = kind
        if not issubclass(kind, CheckpointStorageFactory):
            honest = InMemory if issubclass(kind, MemoryStorage) else OnDisk
            name, module = f"{kind.__name__}Factory", sys.modules[kind.__module__]
            factory = type(name, (honest,), {"storage": kind, "__module__": kind.__module__})  # type: ignore[assignment]
            setattr(module, name, factory)  # where another process finds it
        BROKEN[kind.__name__] = (promise, factory)
        return kind

    return note
