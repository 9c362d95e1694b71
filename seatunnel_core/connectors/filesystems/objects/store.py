"""The interface of an object store, as the file connectors use it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from attrs import frozen

MARK = "seatunnel-staged"
"""The metadata of an object that identifies the staged object it was copied from."""

LARGEST_COPY = 1 << 30
"""Bytes that are copied in one request: every store takes as many, and copies them before a client gives up waiting."""


@frozen(kw_only=True)
class Found:
    """An object, as a listing or its own head reports it."""

    key: str
    size: int
    """Bytes."""

    modified_s: int
    """Seconds since 1970."""

    etag: str
    mark: str = ""
    """The value of ``MARK``; a listing does not report it."""


@frozen(kw_only=True)
class Page:
    """A part of a listing."""

    objects: Sequence[Found]
    folders: Sequence[str] = ()
    """The common prefixes of further objects, up to the next slash."""

    more: str | None = None
    """The token for the next page; ``None`` for the last one."""


class ObjectStore(ABC):
    """One bucket, as one user. Picklable: it travels to tasks, and connects where it is used. Safe for many threads.

    All methods raise ``OSError`` with the address concerned: ``FileNotFoundError`` if there is no such object or
    upload, ``PermissionError`` for a refusal, and ``EIO`` for failures that may pass.
    """

    task_modules: ClassVar[tuple[str, ...]]
    """Top-level modules that it imports in tasks."""

    bucket: str

    @property
    @abstractmethod
    def schemes(self) -> tuple[str, ...]:
        """The schemes of its addresses, such as ``s3``; we write the first one and understand the others."""

    @abstractmethod
    def head(self, key: str) -> Found:
        """Return an object with its mark."""

    @abstractmethod
    def page(self, prefix: str, *, deep: bool, more: str | None = None, most: int = 1000) -> Page:
        """Return a page of what lies below a prefix: all of it if ``deep``, else up to the next slash."""

    @abstractmethod
    def get(self, key: str, start: int, end: int, etag: str) -> bytes:
        """Return a range of bytes.

        Raises:
            FileExistsError: the object has another ETag.
        """

    @abstractmethod
    def put(self, key: str, body: bytes, mark: str = "") -> None:
        """Write a small object; replaces an existing one."""

    @abstractmethod
    def copy(self, source: str, key: str) -> None:
        """Copy an object of up to ``LARGEST_COPY`` with its mark, within the store.

        Raises:
            FileExistsError: the key is taken; not every server checks that.
            FileNotFoundError: there is no such source.
        """

    @abstractmethod
    def delete(self, keys: Sequence[str]) -> None:
        """Remove up to 1,000 objects, whether they exist or not."""

    # -- uploads in parts -----------------------------------------------------------------------------------------

    @abstractmethod
    def begin(self, key: str, mark: str) -> str:
        """Begin an upload, and return its id."""

    @abstractmethod
    def send(self, key: str, upload: str, number: int, part: bytes) -> str:
        """Send a part, numbered from 1, and return its ETag."""

    @abstractmethod
    def send_copy(self, key: str, upload: str, number: int, source: str, start: int, end: int) -> str:
        """Send a range of another object, of up to ``LARGEST_COPY``, as a part, and return its ETag."""

    @abstractmethod
    def complete(self, key: str, upload: str, etags: Sequence[str], *, new: bool) -> None:
        """Assemble the object from its parts.

        A server that was killed meanwhile may report success without having the object, so check it.

        Raises:
            FileExistsError: it has to be a ``new`` object, and there is one already.
        """

    @abstractmethod
    def abort(self, key: str, upload: str) -> None:
        """End an upload without an object, and free its parts."""

    @abstractmethod
    def uploads(self, key: str) -> Iterator[str]:
        """Yield the ids of the uploads to one key."""

    @abstractmethod
    def require_writable(self, folder: str) -> None:
        """Raise ``OSError`` if nothing could be staged or published, as far as requests can tell.

        Args:
            folder: the prefix of the staging folder.
        """

    @abstractmethod
    def days_of_objects(self, prefix: str) -> Sequence[int]:
        """Return after how many days rules of the bucket remove objects below a prefix. Never raises."""
