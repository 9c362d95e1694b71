"""Encoding of an Arrow schema as a string for JSON: its IPC message in base64."""

import base64

import pyarrow as pa

from seatunnel_core.errors import StoredValueError


def schema_to_text(columns: pa.Schema) -> str:
    """Return an Arrow schema as its IPC message in base64."""
    return base64.b64encode(columns.serialize().to_pybytes()).decode("ascii")


def schema_from_text(text: str) -> pa.Schema:
    """Decode the result of ``schema_to_text``. Raise StoredValueError for another string."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
    except (ValueError, OSError, pa.ArrowException) as error:
        raise StoredValueError(f"these columns are not an Arrow schema: {error}") from error
