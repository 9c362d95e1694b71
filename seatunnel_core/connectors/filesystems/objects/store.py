"""What the file connectors ask of an object store."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from attrs import frozen

MARK = "seatunnel-staged"
"""The metadata of an object that tells as what it was staged."""

LARGEST_COPY = 1 << 30
"""Bytes of what is copied in one request: as much as every store takes, and copies before a client gives up waiting."""


@frozen(kw_only=True)
class Found:
    """An object, as a listing or its own head shows it."""

    key: str
    size: int
    """Bytes."""

    modified_s: int
    """Seconds since 1970."""

    etag: str
    mark: str = ""
    """The value of ``MARK``; a listing does not tell it."""


@frozen(kw_only=True)
class Page:
    """A part of a listing."""

    objects: Sequence[Found]
    folders: Sequence[str] = ()
    """What the keys of further objects begin with, up to the next slash."""

    more: str | None = None
    """How to ask for the next page; ``None`` for the last one."""


class ObjectStore(ABC):
    """One bucket, as one user. Picklable: it travels to tasks, and connects where it is used. Many threads may use it.

    Raises everywhere ``OSError`` with the address of what was asked for: ``FileNotFoundError`` where there is no such
    object or upload, ``PermissionError`` for a refusal, and with ``EIO`` what may be gone when it is tried again.
    """

    task_modules: ClassVar[tuple[str, ...]]
    """Top-level modules that it imports in tasks."""

    bucket: str

    @property
    @abstractmethod
    def schemes(self) -> tuple[str, ...]:
        """How an address begins, as ``s3``; the first one is ours, others are understood."""

    @abstractmethod
    def head(self, key: str) -> Found: ...

    @abstractmethod
    def page(self, prefix: str, *, deep: bool, more: str | None = None, most: int = 1000) -> Page:
        """What lies below a prefix: all of it, or up to the next slash."""

    @abstractmethod
    def get(self, key: str, start: int, end: int, etag: str) -> bytes:
        """A range of bytes. Raises ``FileExistsError`` when the object has another ETag."""

    @abstractmethod
    def put(self, key: str, body: bytes, mark: str = "") -> None:
        """A small object; replaces what is there."""

    @abstractmethod
    def copy(self, source: str, key: str) -> None:
        """Make an object of another one of up to ``LARGEST_COPY``, with its mark, all within the store.

        Raises:
            FileExistsError: there is one already; not every server looks.
            FileNotFoundError: there is no such source.
        """

    @abstractmethod
    def delete(self, keys: Sequence[str]) -> None:
        """Remove up to 1,000 objects, be they there or not."""

    # -- uploads in parts -----------------------------------------------------------------------------------------

    @abstractmethod
    def begin(self, key: str, mark: str) -> str:
        """Begin an upload, and say its id."""

    @abstractmethod
    def send(self, key: str, upload: str, number: int, part: bytes) -> str:
        """Send a part, from 1 on, and say its ETag."""

    @abstractmethod
    def send_copy(self, key: str, upload: str, number: int, source: str, start: int, end: int) -> str:
        """As ``send``, a range of another object, of up to ``LARGEST_COPY``."""

    @abstractmethod
    def complete(self, key: str, upload: str, etags: Sequence[str], *, new: bool) -> None:
        """Make the object of its parts; where it has to be a ``new`` one and there is one, raises ``FileExistsError``.

        A server that was killed meanwhile may say that it was done though it was not: look.
        """

    @abstractmethod
    def abort(self, key: str, upload: str) -> None: ...

    @abstractmethod
    def uploads(self, key: str) -> Iterator[str]:
        """The ids of the uploads to one key."""

    @abstractmethod
    def require_writable(self, folder: str) -> None:
        """Raise ``OSError`` where nothing could be staged or published, as far as that can be told by asking.

        Args:
            folder: the prefix of the staging folder.
        """

    @abstractmethod
    def days_of_objects(self, prefix: str) -> Sequence[int]:
        """After how many days rules of the bucket remove objects below a prefix. Never raises."""
