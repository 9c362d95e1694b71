"""Result of a finished writer of a sink."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class Staged:
    """Result of a finished writer."""

    body: Mapping[str, Any]
    """Data for ``commit``: JSON values only."""

    rows: int
    bytes: int
    table_rows: Mapping[str, int] = field(factory=dict)
    """Number of rows by table, for a sink that uses them in ``conclude``; otherwise empty."""

    tables: Mapping[str, str] = field(factory=dict)
    """Tables of the target that receive the rows, each with its identity, such as a UUID; ``""`` if the database has
    none. The engine keeps tables with published rows in ``SinkContext.published_to``. Empty for a sink that creates no
    tables."""

    shown: tuple[str, ...] = ()
    """Values passed to ``Sink.show`` as soon as the unit has ended; never part of a checkpoint."""
