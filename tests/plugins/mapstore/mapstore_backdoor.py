"""How the kit reaches the entries of the maps of a checkpoint storage."""

from seatunnel_storage_mapstore.storage import MapStorage

from seatunnel_storage_api.testing import Backdoor


class EntriesBackdoor(Backdoor):
    """Changes the entries of the maps behind the back of every verb, as another process that takes the maps over.

    What damage to the bytes beneath does is in ``test_mapstore_damage`` and ``test_mapstore_damaged_pipeline``.
    """

    def __init__(self, storage: MapStorage) -> None:
        self.storage = storage

    def paths(self) -> list[str]:
        return sorted(blob.key for blob in self.storage.list_blobs(""))

    def read(self, path: str) -> bytes:
        body = self.storage.read(path)
        assert body is not None
        return body

    def write(self, path: str, body: bytes) -> None:
        self.delete(path)
        assert self.storage.put_if_absent(path, body)

    def delete(self, path: str) -> None:
        self.storage.delete([path])
