"""Direct access of the suite to the stored bytes, bypassing the storage."""

from abc import ABC, abstractmethod
from pathlib import Path


class Backdoor(ABC):
    """Raw access to everything below one namespace, bypassing the storage's interface."""

    @abstractmethod
    def paths(self) -> list[str]:
        """Return the paths of all stored objects, including unfinished ones, in the backend's own form."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return all bytes of one object."""

    @abstractmethod
    def write(self, path: str, body: bytes) -> None:
        """Replace all bytes of an object, or create it."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove an object."""

    def only(self, ending: str) -> str:
        """Return the only path that ends with ``ending``; raise ``ValueError`` if there is none or more than one."""
        (path,) = (path for path in self.paths() if path.endswith(ending))
        return path


class FolderBackdoor(Backdoor):
    """Backdoor to storages that keep files below a folder."""

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
    """Backdoor to storages that keep everything in a dictionary."""

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
