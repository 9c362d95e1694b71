"""Errors of sinks in the driver, which may be retryable. Their messages contain the pipeline and the sink."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seatunnel_core.connector_api.errors import ConnectorError, SinkError


@contextmanager
def named_errors(
    who: str, what: str, kind: Callable[[str], SinkError], failed: Callable[[Exception], SinkError]
) -> Iterator[None]:
    """Re-raise errors with the pipeline and the sink (``who``) in the message.

    Args:
        who: The pipeline and the sink: ``pipeline 1, sink Jdbc``.
        what: Description of the failure, to follow ``who``.
        kind: Function that creates an error from the message of another plugin's error, such as a source's.
        failed: Function that creates an error from a library's exception.

    Raises:
        SinkError: The original error, with ``who`` in front unless it starts with a pipeline; or a converted error.
    """
    try:
        yield
    except SinkError as error:
        if str(error).startswith("pipeline "):
            raise
        raise _as_retryable(type(error)(f"{who}: {error}"), error) from error
    except ConnectorError as error:
        raise _as_retryable(kind(f"{who}: {what}: {error}"), error) from error
    except Exception as error:
        raise failed(error) from error


def _as_retryable(found: SinkError, error: ConnectorError) -> SinkError:
    found.retryable = error.retryable
    return found
