"""Interface to a kind of database."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import sqlalchemy as sa

from seatunnel_storage_jdbc.address import Address

CONNECT_S = 10
"""Timeout for connecting, in seconds."""

IDLE_S = 5
"""Time after which the server ends a connection with an idle transaction, in seconds. Otherwise, a process that hangs
during a transaction would keep its locks, and no other process could take over its work."""

LOCK_S = 10
"""Maximum time that a statement waits for the lock of another transaction, in seconds."""

STATEMENT_S = 120
"""Default timeout of a statement and of a server response, in seconds."""


class Dialect(ABC):
    """Kind of database. Covers the differences that SQLAlchemy does not."""

    driver: ClassVar[str] = ""
    """Module of the driver; empty if it is part of Python."""

    extra: ClassVar[str] = ""
    """Extra of this distribution that installs the driver."""

    shows_before_durable: ClassVar[bool] = False
    """True if other transactions may see a commit before it is durable."""

    @abstractmethod
    def url(self, address: Address) -> sa.URL:
        """Return the SQLAlchemy URL."""

    @abstractmethod
    def arguments(self, address: Address, answer_s: int) -> dict[str, Any]:
        """Return the arguments of the driver's ``connect``; ``answer_s`` is the timeout of a server response.

        Raises:
            StorageConfigurationError: A property of the URL is unknown.
        """

    def begin_session(self, connection: Any) -> None:
        """Configure a new driver connection."""

    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        """Begin a transaction, unless the driver does so."""

    def exists(self, address: Address) -> bool:
        """Return True if the database exists; only checked where opening a missing database would create it."""
        return True

    def weaknesses(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return a sentence for each server setting that may lose acknowledged data."""
        return ()

    @abstractmethod
    def may_pass(self, error: BaseException) -> bool:
        """Return True if a driver error is retryable."""

    def message(self, error: BaseException) -> str:
        """Return the driver's message on one line."""
        return " ".join(str(error).split())
