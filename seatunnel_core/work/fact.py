"""Facts that the reader of a split reports to its source."""

from collections.abc import Mapping
from typing import Any

Fact = Mapping[str, Any]
"""Data that a reader sends to its source so that the source can continue, such as a log position. JSON values only."""
