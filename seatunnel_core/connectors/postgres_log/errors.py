"""Errors of the log reader. All of them derive from ``LogError``."""

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError


class LogError(SourceError):
    """The log cannot be read, or its contents cannot be represented as changes of rows."""


class MalformedLogError(LogError):
    """Bytes of the log contradict the documented format of its messages."""


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


class SlotInUseError(LogError):
    """Another process is reading the slot."""

    retryable = True


class SlotTakenError(SlotInUseError):
    """Another job or program uses the slot, and has not released it for some time. Each job needs its own slot."""

    retryable = False


class SlotChangedError(LogError, SourceChangedError):
    """The slot can no longer return the requested range."""


class SlotMissingError(SlotChangedError):
    """The slot does not exist, or is not a logical slot of this database with ``pgoutput``."""


class SlotLostError(SlotChangedError):
    """The server has removed a part of the log that the slot needs, or has invalidated the slot."""


class SlotAdvancedError(SlotChangedError):
    """The slot was confirmed beyond the start of a range: the server would silently skip transactions."""
