"""Errors that connectors raise."""

from seatunnel_core.errors import (
    CommitError,
    ConnectorError,
    RowError,
    RuleError,
    SeaTunnelError,
    SinkError,
    SourceChangedError,
    SourceError,
    StoredValueError,
    TransformError,
    UsageError,
)

__all__ = [
    "CommitError",
    "ConnectorError",
    "RowError",
    "RuleError",
    "SeaTunnelError",
    "SinkError",
    "SourceChangedError",
    "SourceError",
    "StoredValueError",
    "TransformError",
    "UsageError",
]
