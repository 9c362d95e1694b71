"""A test kit for connectors, which calls them as the engine does, in one process and without Spark.

Subclass ``SourceConformance``, ``EndlessSourceConformance`` or ``SinkConformance``, describe your connector in the
abstract methods, and run pytest. The kit for transforms is ``seatunnel_core.transforms.testing``.
"""

import warnings
from importlib import import_module
from typing import Any

from seatunnel_core.connectors.testing.drive import Skipped, commit, options_of, plan, read, stage
from seatunnel_core.connectors.testing.endless_suite import EndlessSourceConformance
from seatunnel_core.connectors.testing.sink_suite import SinkConformance
from seatunnel_core.connectors.testing.source_suite import SourceConformance

__all__ = [
    "EndlessSourceConformance",
    "SinkConformance",
    "Skipped",
    "SourceConformance",
    "commit",
    "options_of",
    "plan",
    "read",
    "stage",
]


def __getattr__(name: str) -> Any:
    """Find the kit for transforms where it was before this version, with a warning."""
    if name != "TransformConformance":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "seatunnel_core.transforms.testing"
    warnings.warn(
        f"import {name} from {home}: the old path goes with the next version", DeprecationWarning, stacklevel=2
    )
    return getattr(import_module(home), name)
