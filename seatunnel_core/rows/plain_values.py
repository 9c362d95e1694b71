"""Conversion of library values to Python values: NumPy scalars and arrays, UUIDs (to strings), and missing values."""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

_KEPT = frozenset({bool, int, float, str, bytes, Decimal, dt.datetime, dt.date, dt.time, type(None)})

_MISSING = frozenset(("NaTType", "NAType", "MaskedConstant"))
"""Types of missing values in pandas (``NaT``, ``NA``) and in NumPy (``masked``)."""


def plain_values(values: Sequence[Any]) -> Sequence[Any]:
    """Convert values to Python values, including those in mappings and lists. Unknown values are unchanged."""
    if _KEPT.issuperset(map(type, values)):
        return values
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    found = type(value)
    if found in _KEPT:
        return value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    library = found.__module__.partition(".")[0]
    if found.__name__ in _MISSING and library in ("pandas", "numpy"):
        return None
    return _of_numpy(value) if library == "numpy" else value


def _of_numpy(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray):
        return _plain(value[()]) if value.ndim == 0 else [_plain(part) for part in value]
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return None
        exact = value.astype("datetime64[us]")
        return value.item() if isinstance(value.item(), dt.date) else exact.item() if exact == value else value
    return value.item() if isinstance(value, np.bool_ | np.integer | np.floating | np.str_ | np.bytes_) else value
