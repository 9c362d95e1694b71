"""The interface to a kind of database."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import sqlalchemy as sa

from seatunnel_storage_jdbc.address import Address

CONNECT_S = 10
"""Time limit for connecting, in seconds."""

IDLE_S = 5
"""Time after which a server ends a connection whose transaction waits for its client: a process that hangs in the
middle of one would keep its locks, and no other could take over its work."""

LOCK_S = 10
"""Maximum time for which a statement waits for the lock of another transaction, in seconds."""

STATEMENT_S = 120
"""Default time limit of a statement and of a server response, in seconds."""


class Dialect(ABC):
    """A kind of database: its differences that SQLAlchemy does not cover."""

    driver: ClassVar[str] = ""
    """Module of the driver; empty if it is part of Python."""

    extra: ClassVar[str] = ""
    """Extra of this distribution that installs the driver."""

    shows_before_durable: ClassVar[bool] = False
    """True if other transactions may see a commit before it would survive a crash of the server."""

    @abstractmethod
    def url(self, address: Address) -> sa.URL:
        """Return the SQLAlchemy URL."""

    @abstractmethod
    def arguments(self, address: Address, answer_s: int) -> dict[str, Any]:
        """Return the arguments of the driver's ``connect``; no response of the server takes longer than ``answer_s``.

        Raises:
            StorageConfigurationError: A property of the url is unknown.
        """

    def begin_session(self, connection: Any) -> None:
        """Configure a new driver connection."""

    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        """Begin a transaction unless the driver does."""

    def exists(self, address: Address) -> bool:
        """Return True if the database exists; checked only where opening it would create one."""
        return True

    def weaknesses(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return a sentence for each server setting that may lose acknowledged data."""
        return ()

    @abstractmethod
    def may_pass(self, error: BaseException) -> bool:
        """Return True if a driver error is retryable."""

    def message(self, error: BaseException) -> str:
        """Return the driver's message in one line."""
        return " ".join(str(error).split())
