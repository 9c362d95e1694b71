"""A durable map: where an engine keeps its small state. Interfaces only.

A storage for checkpoints, on a key-value store too, is a ``BlobStorage`` (``blob``), not one of these.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping


class MapStore(ABC):
    """A durable map from text to bytes. Every change is durable when the call returns; a key holds its last value.

    Synchronous; any number of threads may call it at once. A map has one writer at a time.
    """

    @abstractmethod
    def store(self, key: str, value: bytes) -> None:
        """Set the value of one key.

        Raises:
            StaleEpochError: Another writer took the map over. Every other verb that changes the map raises it too.
            StorageUnavailableError: The storage failed, and whether the change is durable is unknown.
        """

    @abstractmethod
    def store_all(self, entries: Mapping[str, bytes]) -> None:
        """Set the values of many keys; after a crash each key has either its old or its new value."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove a key; an absent one is no error."""

    @abstractmethod
    def delete_all(self, keys: Collection[str]) -> None:
        """Remove many keys; absent ones are no error."""

    @abstractmethod
    def load(self, key: str) -> bytes | None:
        """Return the value of a key, or ``None`` if it is absent.

        Raises:
            CheckpointCorruptedError: The stored data is damaged. Every other verb that reads raises it too.
        """

    @abstractmethod
    def load_all(self, keys: Collection[str]) -> dict[str, bytes]:
        """Return the values of those keys that are present."""

    @abstractmethod
    def load_all_keys(self) -> frozenset[str]:
        """Return all keys that are present."""

    @abstractmethod
    def destroy(self, *, delete_files: bool = False) -> None:
        """Release the map, and with ``delete_files`` remove its data for good."""


class MapStoreFactory(ABC):
    """Makes map stores of one kind."""

    @property
    @abstractmethod
    def factory_identifier(self) -> str:
        """The ``type`` in the configuration."""

    @abstractmethod
    def create(self, name: str, configuration: Mapping[str, str]) -> MapStore:
        """Return a new map store for one map, independent of all others; ``configuration`` is not changed.

        Args:
            name: The map's name; maps of different names never share a key.
            configuration: Where maps are kept; values are text.

        Raises:
            StorageConfigurationError: The configuration cannot work; the message says what to write.
            StorageAccessError: The place exists but refuses.
            StorageUnavailableError: The place does not answer.
        """
