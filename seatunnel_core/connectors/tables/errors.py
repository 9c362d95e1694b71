"""Errors in the driver's part of a sink: each names the pipeline and the sink, and says whether a retry may help."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seatunnel_core.connector_api.errors import ConnectorError, SinkError


@contextmanager
def named_errors(
    who: str, what: str, kind: Callable[[str], SinkError], failed: Callable[[Exception], SinkError]
) -> Iterator[None]:
    """Let only errors out that name the pipeline and the sink.

    Args:
        who: The pipeline and the sink: ``pipeline 1, sink Jdbc``.
        what: What failed, as the words behind a name.
        kind: Makes an error of the message of another plugin's error, such as one of a source's that the sink asked.
        failed: Makes an error of what a library has raised.

    Raises:
        SinkError: As it was raised, with ``who`` before it unless it begins with a pipeline; or what ``kind`` or
            ``failed`` has made.
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
