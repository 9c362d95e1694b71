"""Errors of the log reader. All of them derive from ``LogError``, except those of replication slots."""

from seatunnel_core.capture_errors import SlotAdvancedError as SlotAdvancedError
from seatunnel_core.capture_errors import SlotChangedError as SlotChangedError
from seatunnel_core.capture_errors import SlotInUseError as SlotInUseError
from seatunnel_core.capture_errors import SlotLostError as SlotLostError
from seatunnel_core.capture_errors import SlotMissingError as SlotMissingError
from seatunnel_core.capture_errors import SlotTakenError as SlotTakenError
from seatunnel_core.connector_api.errors import SourceError


class LogError(SourceError):
    """The log cannot be read, or its contents cannot be represented as changes of rows."""


class MalformedLogError(LogError):
    """The log contains bytes that violate the documented message format."""


class UnsupportedLogError(LogError):
    """The log contains a message, a type or a value that this reader does not support."""


class PublicationError(LogError):
    """A publication does not exist, or does not publish all changes to capture."""


class LogServerError(LogError):
    """The server rejected a command, or ended the stream with an error."""

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        """SQLSTATE of the error; ``""`` if the server sent none."""


class LogConnectionError(LogError):
    """The connection to the server was lost, or the server does not respond. A new connection may succeed."""

    retryable = True
