"""The interfaces of the durable map can be implemented as they are written."""

from collections.abc import Collection, Mapping

import pytest

from seatunnel_storage_api.mapstore import MapStore, MapStoreFactory


class DictionaryStore(MapStore):
    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}

    def store(self, key: str, value: bytes) -> None:
        self.entries[key] = value

    def store_all(self, entries: Mapping[str, bytes]) -> None:
        self.entries.update(entries)

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    def delete_all(self, keys: Collection[str]) -> None:
        for key in keys:
            self.delete(key)

    def load(self, key: str) -> bytes | None:
        return self.entries.get(key)

    def load_all(self, keys: Collection[str]) -> dict[str, bytes]:
        return {key: self.entries[key] for key in keys if key in self.entries}

    def load_all_keys(self) -> frozenset[str]:
        return frozenset(self.entries)

    def destroy(self, *, delete_files: bool = False) -> None:
        if delete_files:
            self.entries.clear()


class DictionaryFactory(MapStoreFactory):
    factory_identifier = "dictionary"

    def create(self, name: str, configuration: Mapping[str, str]) -> MapStore:
        return DictionaryStore()


def test_a_map_store_needs_every_verb() -> None:
    store = DictionaryFactory().create("map", {})
    store.store_all({"a": b"1", "b": b"2"})
    store.delete_all(["a", "absent"])
    assert (store.load("a"), store.load_all(["a", "b"]), store.load_all_keys()) == (None, {"b": b"2"}, {"b"})
    for interface in (MapStore, MapStoreFactory):
        with pytest.raises(TypeError, match="abstract"):
            interface()  # type: ignore[abstract]
