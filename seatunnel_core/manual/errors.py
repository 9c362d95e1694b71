"""Help pages of errors for ``seatunnel help CODE``, generated from the docstrings of the error classes."""

import inspect
import re
from collections.abc import Mapping

from attrs import frozen

# These modules are imported so that their classes are found.
import seatunnel_core.capture_errors
import seatunnel_core.checkpoint.errors  # noqa: F401
from seatunnel_core.errors import ConnectorError, SeaTunnelError, UsageError
from seatunnel_storage_api.errors import CheckpointStorageError, StaleEpochError, StorageUsageError

ENGINE, AGAIN, NEXT, MESSAGE = "What the engine did", "Retried", "What to do", "An example"

_LABELS = {ENGINE: ENGINE, AGAIN: AGAIN, "Tried again": AGAIN, NEXT: NEXT, "Message": MESSAGE}
"""Headings, keyed by the label at the start of a docstring paragraph. Plugins may use the older label."""

_FENCED = "No. Another engine runs the job now, and all pipelines have ended in this process."
_ENDS_JOB = "No. The pipeline with this error has failed, and the others have taken a final checkpoint and stopped."
_MAY_PASS = (
    "Yes, a limited number of times, because the cause may be transient. If the pipeline still fails, it restarts from "
    "its latest checkpoint. `seatunnel help failures` describes the limits."
)
_LASTS = (
    "{no}. A pipeline with this error fails immediately, and the other pipelines run to completion; a command ends "
    "with exit code {code}."
)
_NO = "No, because the result would be the same"
_NO_UNLESS = (
    "Only if the connector reports it as transient, or if its cause is a network or disk that may recover. Otherwise "
    "the result would be the same"
)

Coded = type[SeaTunnelError] | type[CheckpointStorageError]


@frozen(kw_only=True)
class ErrorPage:
    """Help page of an error code, with commands in backquotes."""

    code: str
    name: str
    """Qualified name of the error class."""

    parent: str
    """Code of the base class; empty if it has none."""

    meaning: str
    parts: Mapping[str, str]
    """Text by heading, in display order."""


def coded() -> dict[str, Coded]:
    """Return all error classes that define a code, by code, including those of loaded plugins."""
    found: dict[str, Coded] = {}
    waiting: list[Coded] = [SeaTunnelError, CheckpointStorageError]
    for kind in waiting:  # the loop appends to this list
        if "code" in vars(kind):
            found.setdefault(kind.code, kind)
        waiting += kind.__subclasses__()
    return dict(sorted(found.items()))


def error_page(kind: Coded) -> ErrorPage:
    """Return the help page of an error class, parsed from its docstring."""
    meaning = []
    said = {AGAIN: _again(kind)}
    for paragraph in inspect.cleandoc(kind.__doc__ or "").split("\n\n"):
        text = re.sub(r"\n(?! )", " ", paragraph.replace("``", "`"))  # an indented line starts a new line
        label, _, rest = text.partition(": ")
        if label in _LABELS:
            said[_LABELS[label]] = rest if label == "Message" else rest[:1].upper() + rest[1:]
        else:
            meaning.append(text)
    return ErrorPage(
        code=kind.code,
        name=f"{kind.__module__}.{kind.__qualname__}",
        parent=getattr(kind.__base__, "code", ""),
        meaning=" ".join(meaning),
        parts={heading: said[heading] for heading in (ENGINE, AGAIN, NEXT, MESSAGE) if heading in said},
    )


def _again(kind: Coded) -> str:
    if issubclass(kind, StaleEpochError):
        return _FENCED
    if getattr(kind, "ends_job", False):
        return _ENDS_JOB
    if kind.retryable:
        return _MAY_PASS
    no = _NO_UNLESS if issubclass(kind, ConnectorError) else _NO
    return _LASTS.format(no=no, code=2 if issubclass(kind, UsageError | StorageUsageError) else 1)
