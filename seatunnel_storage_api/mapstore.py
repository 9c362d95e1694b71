"""A durable map: where an engine keeps its small state. Interfaces only."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping


class MapStore(ABC):
    """A durable map from text to bytes. Every change is durable when the call returns; a key holds its last value.

    Synchronous; any number of threads may call it at once. A map has one writer at a time.
    """

    @abstractmethod
    def store(self, key: str, value: bytes) -> None:
        """Sets the value of one key.

        Raises:
            StaleEpochError: another writer took the map over. So does every other verb that changes the map.
            StorageUnavailableError: the storage failed, and whether the change is durable is not known.
        """

    @abstractmethod
    def store_all(self, entries: Mapping[str, bytes]) -> None:
        """Sets many; a crash leaves each key with its old or its new value."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Removes a key; an absent one is no error."""

    @abstractmethod
    def delete_all(self, keys: Collection[str]) -> None:
        """Removes many; absent ones are no error."""

    @abstractmethod
    def load(self, key: str) -> bytes | None:
        """The value, or ``None`` if the key is absent.

        Raises:
            CheckpointCorruptedError: what is stored is damaged. So does every other verb that reads.
        """

    @abstractmethod
    def load_all(self, keys: Collection[str]) -> dict[str, bytes]:
        """The values of those keys that are present."""

    @abstractmethod
    def load_all_keys(self) -> frozenset[str]:
        """All keys that are present."""

    @abstractmethod
    def destroy(self, *, delete_files: bool = False) -> None:
        """Releases the map; with ``delete_files`` removes its data for good."""


class MapStoreFactory(ABC):
    """Makes map stores of one kind."""

    @property
    @abstractmethod
    def factory_identifier(self) -> str:
        """The ``type`` in the configuration."""

    @abstractmethod
    def create(self, name: str, configuration: Mapping[str, str]) -> MapStore:
        """The map store of one map. Never changes ``configuration``; two calls give two independent stores.

        Args:
            name: of the map; maps of different names never see each other.
            configuration: where maps are kept, as text.

        Raises:
            StorageConfigurationError: the configuration cannot work; the message says what to write.
            StorageAccessError: the place exists but refuses.
            StorageUnavailableError: the place does not answer.
        """
