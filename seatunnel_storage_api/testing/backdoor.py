"""How the kit reaches stored bytes without the storage."""

from abc import ABC, abstractmethod
from pathlib import Path


class Backdoor(ABC):
    """Raw access beneath the storage's interface, to everything below one namespace."""

    @abstractmethod
    def paths(self) -> list[str]:
        """Every stored object, unfinished ones included, each named in the backend's own way."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """All bytes of one object."""

    @abstractmethod
    def write(self, path: str, body: bytes) -> None:
        """Sets all bytes of an object, which may be new."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Removes an object."""

    def only(self, ending: str) -> str:
        """The one path that ends so."""
        (path,) = (path for path in self.paths() if path.endswith(ending))
        return path


class FolderBackdoor(Backdoor):
    """For storages that keep files below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def paths(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def read(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def write(self, path: str, body: bytes) -> None:
        (self.folder / path).write_bytes(body)

    def delete(self, path: str) -> None:
        (self.folder / path).unlink()


class DictionaryBackdoor(Backdoor):
    """For storages that keep everything in a dictionary."""

    def __init__(self, blobs: dict[str, bytes]) -> None:
        self.blobs = blobs

    def paths(self) -> list[str]:
        return sorted(self.blobs)

    def read(self, path: str) -> bytes:
        return self.blobs[path]

    def write(self, path: str, body: bytes) -> None:
        self.blobs[path] = body

    def delete(self, path: str) -> None:
        del self.blobs[path]
