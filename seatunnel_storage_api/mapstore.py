"""Interfaces for a durable map that holds small engine state.

Checkpoint storages do not use them; even on a key-value store, they implement ``BlobStorage`` (``blob``).
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping


class MapStore(ABC):
    """Durable map from strings to bytes. Every change is durable when the call returns.

    A key has the value stored last. Synchronous and thread-safe. A map has one writer at a time.
    """

    @abstractmethod
    def store(self, key: str, value: bytes) -> None:
        """Set the value of one key.

        Raises:
            StaleEpochError: Another writer claimed the map. All other operations that change the map also raise this.
            StorageUnavailableError: The storage failed, and it is unknown whether the change is durable.
        """

    @abstractmethod
    def store_all(self, entries: Mapping[str, bytes]) -> None:
        """Set the values of many keys. After a crash, each key has either its old or its new value."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove a key; do nothing if it is missing."""

    @abstractmethod
    def delete_all(self, keys: Collection[str]) -> None:
        """Remove many keys; ignore missing ones."""

    @abstractmethod
    def load(self, key: str) -> bytes | None:
        """Return the value of a key, or ``None`` if it is absent.

        Raises:
            CheckpointCorruptedError: The stored data is damaged. All other operations that read also raise this.
        """

    @abstractmethod
    def load_all(self, keys: Collection[str]) -> dict[str, bytes]:
        """Return the values of the given keys that exist."""

    @abstractmethod
    def load_all_keys(self) -> frozenset[str]:
        """Return all existing keys."""

    @abstractmethod
    def destroy(self, *, delete_files: bool = False) -> None:
        """Release the map; with ``delete_files``, also remove its data permanently."""


class MapStoreFactory(ABC):
    """Factory of map stores of one kind."""

    @property
    @abstractmethod
    def factory_identifier(self) -> str:
        """``type`` of the map store in the configuration."""

    @abstractmethod
    def create(self, name: str, configuration: Mapping[str, str]) -> MapStore:
        """Return a new map store for one map, independent of all others; ``configuration`` is not changed.

        Args:
            name: The map's name; maps of different names never share a key.
            configuration: Options of the map store; values are strings.

        Raises:
            StorageConfigurationError: The configuration is invalid; the message contains the remedy.
            StorageAccessError: The location exists but denies access.
            StorageUnavailableError: The location does not respond.
        """
