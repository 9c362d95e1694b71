"""Batch of rows, with the schema of its table."""

from seatunnel_core.rows.batch import Batch, ConstraintKey, TableSchema
from seatunnel_core.rows.kind import RowKind

__all__ = ["Batch", "ConstraintKey", "RowKind", "TableSchema"]
