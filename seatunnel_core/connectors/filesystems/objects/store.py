"""Interface of an object store for the file connectors."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from attrs import frozen

MARK = "seatunnel-staged"
"""Metadata key with a hash of the staged path as its value; copies keep it."""

LARGEST_COPY = 1 << 30
"""Maximum number of bytes to copy in one request; every store can copy this many before the client times out."""


@frozen(kw_only=True)
class Found:
    """An object as reported by a listing or a HEAD request."""

    key: str
    size: int
    """Size in bytes."""

    modified_s: int
    """Modification time, in seconds since 1970."""

    etag: str
    mark: str = ""
    """Value of ``MARK``; a listing does not report it."""


@frozen(kw_only=True)
class Page:
    """A page of a listing."""

    objects: Sequence[Found]
    folders: Sequence[str] = ()
    """Common prefixes of deeper objects, each up to the next slash."""

    more: str | None = None
    """Token for the next page; ``None`` for the last one."""


class ObjectStore(ABC):
    """One bucket, accessed as one user. Picklable, because it is sent to tasks; it connects on first use. Thread-safe.

    All methods raise ``OSError`` with the requested address: ``FileNotFoundError`` if the object or upload does not
    exist, ``PermissionError`` for a denied request, and ``EIO`` for failures that may be temporary.
    """

    task_modules: ClassVar[tuple[str, ...]]
    """Top-level modules that tasks import."""

    bucket: str

    @property
    @abstractmethod
    def schemes(self) -> tuple[str, ...]:
        """URL schemes, such as ``s3``. All are accepted; the first one is used in paths."""

    @abstractmethod
    def head(self, key: str) -> Found:
        """Return the metadata of an object, including its mark."""

    @abstractmethod
    def page(self, prefix: str, *, deep: bool, more: str | None = None, most: int = 1000) -> Page:
        """Return a page of the objects below a prefix. Unless ``deep``, deeper objects appear only as ``folders``."""

    @abstractmethod
    def get(self, key: str, start: int, end: int, etag: str) -> bytes:
        """Return a range of bytes; raise ``FileExistsError`` if the object has a different ETag."""

    @abstractmethod
    def put(self, key: str, body: bytes, mark: str = "") -> None:
        """Write a small object; replace an existing one."""

    @abstractmethod
    def copy(self, source: str, key: str) -> None:
        """Copy an object of up to ``LARGEST_COPY`` with its mark, within the store.

        Raises:
            FileExistsError: The key is in use; not every server checks this.
            FileNotFoundError: The source does not exist.
        """

    @abstractmethod
    def delete(self, keys: Sequence[str]) -> None:
        """Remove up to 1,000 objects; missing ones are ignored."""

    @abstractmethod
    def begin(self, key: str, mark: str) -> str:
        """Start an upload, and return its ID."""

    @abstractmethod
    def send(self, key: str, upload: str, number: int, part: bytes) -> str:
        """Send a part, numbered from 1, and return its ETag."""

    @abstractmethod
    def send_copy(self, key: str, upload: str, number: int, source: str, start: int, end: int) -> str:
        """Copy a range of another object, at most ``LARGEST_COPY`` bytes, as a part on the server; return its ETag."""

    @abstractmethod
    def complete(self, key: str, upload: str, etags: Sequence[str], *, new: bool) -> None:
        """Assemble the object from its parts.

        A server that is killed during the request may report success without storing the object, so the caller must
        check that it exists.

        Raises:
            FileExistsError: The object must be ``new``, but one exists.
        """

    @abstractmethod
    def abort(self, key: str, upload: str) -> None:
        """End an upload without creating an object, and free its parts."""

    @abstractmethod
    def uploads(self, key: str) -> Iterator[str]:
        """Yield the IDs of the uploads to one key."""

    @abstractmethod
    def require_writable(self, folder: str) -> None:
        """Raise ``OSError`` if objects cannot be staged in ``folder`` or published, as far as this can be checked."""

    @abstractmethod
    def days_of_objects(self, prefix: str) -> Sequence[int]:
        """Return the ages in days at which lifecycle rules of the bucket remove objects below a prefix."""
