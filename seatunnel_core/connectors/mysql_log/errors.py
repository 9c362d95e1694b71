"""Errors of the log reader. All of them derive from ``LogError``."""

from seatunnel_core.connector_api.errors import SourceError


class LogError(SourceError):
    """The log cannot be read, or its contents cannot be represented as changes of rows."""


class MalformedLogError(LogError):
    """Bytes of the log contradict its documented format, or their checksum is wrong."""


class UnsupportedLogError(LogError):
    """The log contains an event, a column or a value that this reader does not support."""


class StatementLoggedError(LogError):
    """Changed rows were logged as a statement, so the rows themselves are not in the log."""


class TableShapeError(LogError):
    """The columns of a table in the log differ from the declared ones, or are unknown."""


class LogServerError(LogError):
    """The server ended the stream with an error."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number
        """Error number of the server, such as 1236 for a log file that no longer exists."""
