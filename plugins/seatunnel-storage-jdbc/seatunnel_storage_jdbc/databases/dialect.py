"""The interface to a kind of database."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import sqlalchemy as sa

from seatunnel_storage_jdbc.address import Address

CONNECT_S = 10
"""Time limit for a connection."""

IDLE_S = 5
"""A server ends a connection when a transaction waits for its client for this long: a process that stands still in the
middle of one would keep its locks, and no other could take its work over."""

LOCK_S = 10
"""Time that a statement waits for the lock of another transaction."""

STATEMENT_S = 120
"""Default time limit of a statement and of a response of the server."""


class Dialect(ABC):
    """One kind of database. Its engine comes from SQLAlchemy; here is what SQLAlchemy does not know."""

    driver: ClassVar[str] = ""
    """The module of the driver; empty if it is part of Python."""

    extra: ClassVar[str] = ""
    """The extra of this distribution that installs the driver."""

    shows_before_durable: ClassVar[bool] = False
    """True if a commit is visible to others a moment before it would survive a crash of the server."""

    @abstractmethod
    def url(self, address: Address) -> sa.URL:
        """Return SQLAlchemy's url."""

    @abstractmethod
    def arguments(self, address: Address, answer_s: int) -> dict[str, Any]:
        """Return the arguments of the driver's ``connect``; no response of the server takes longer than ``answer_s``.

        Raises:
            StorageConfigurationError: A property of the url is not known.
        """

    def begin_session(self, connection: Any) -> None:
        """Set a new connection of the driver up."""

    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        """Begin a transaction where the driver does not do it by itself."""

    def exists(self, address: Address) -> bool:
        """Return whether there is a database at all, where opening it would create one."""
        return True

    def weaknesses(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return a sentence for each setting of the server by which what it acknowledged may be lost."""
        return ()

    @abstractmethod
    def may_pass(self, error: BaseException) -> bool:
        """Return whether what the driver raised may pass by itself."""

    def message(self, error: BaseException) -> str:
        """Return what the driver says, in one line."""
        return " ".join(str(error).split())
