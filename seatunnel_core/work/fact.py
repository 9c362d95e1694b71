"""A fact that the reader of a split reports to its source."""

from collections.abc import Mapping
from typing import Any

Fact = Mapping[str, Any]
"""Knowledge that a source needs to continue and only the reader of a split has, such as the position in a log at which
a chunk of a table was read. JSON values only; opaque to the protocol."""
