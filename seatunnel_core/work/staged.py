"""The result of a finished writer of a sink."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class Staged:
    """The result of a finished writer."""

    body: Mapping[str, Any]
    """What ``commit`` needs: JSON values only."""

    rows: int
    bytes: int
    table_rows: Mapping[str, int] = field(factory=dict)
    """The number of rows of each table, for a sink that uses them in ``conclude``; else empty."""

    tables: Mapping[str, str] = field(factory=dict)
    """The tables of the target that the rows go to, each with its identity, such as a UUID; ``""`` where a database has
    none. The engine remembers those that rows were published to, in ``SinkContext.published_to``. Empty for a sink that
    creates no tables."""

    shown: tuple[str, ...] = ()
    """Passed to ``Sink.show`` as soon as the unit has ended; never part of a checkpoint."""
