"""Checkpoint storage in this process's memory, for tests of code that uses storages. Nothing in it is durable."""

import threading
from collections.abc import Callable, Iterable, Mapping

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.storage import CheckpointStorageFactory


class MemoryStorage(BlobStorage):
    """Storage of blobs in a dictionary. ``before``, called with each primitive's name and key, may raise or block."""

    def __init__(
        self,
        blobs: dict[str, bytes] | None = None,
        *,
        namespace: str = shared.DEFAULT_NAMESPACE,
        max_retained: int = shared.DEFAULT_MAX_RETAINED,
        before: Callable[[str, str], object] = lambda operation, key: None,
    ) -> None:
        super().__init__(backend="memory", namespace=namespace, max_retained=max_retained)
        self.blobs = {} if blobs is None else blobs
        """Blobs by absolute path; several storages can share the dictionary."""
        self.before = before
        self._lock = threading.Lock()

    def put_if_absent(self, key: str, body: bytes) -> bool:
        self.before("put", key)
        with self._lock:
            return self.blobs.setdefault(self.locate(key), body) is body

    def read(self, key: str) -> bytes | None:
        self.before("read", key)
        return self.blobs.get(self.locate(key))

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        self.before("list", prefix)
        with self._lock:
            blobs = sorted(self.blobs.items())
        here = self.locate(prefix)
        return [
            Blob(key=path.removeprefix(self.namespace), size_bytes=len(body))
            for path, body in blobs
            if path.startswith(here)
        ]

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.before("delete", key)
            self.blobs.pop(self.locate(key), None)


class MemoryStorageFactory(CheckpointStorageFactory):
    """Factory of storages that share their blobs, like processes that share a disk."""

    factory_identifier = "memory"

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def create(self, configuration: Mapping[str, str]) -> MemoryStorage:
        storage = MemoryStorage(
            self.blobs,
            namespace=shared.namespace(configuration),
            max_retained=shared.max_retained(configuration),
        )
        shared.warn(shared.unknown_keys(configuration, ()))
        return storage
