"""Facts that the reader of a split reports to its source."""

from collections.abc import Mapping
from typing import Any

Fact = Mapping[str, Any]
"""Data that a source needs to continue and only the reader knows, such as a log position. JSON values only."""
