"""Options of sinks whose placeholders ``${…}`` are columns of the rows, as the options themselves declare."""

from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points

GROUP = "seatunnel.sink"
"""Entry-point group of sinks."""


def names_columns(keys: Sequence[str]) -> bool:
    """Return True if placeholders in the value at this path of a job file may be columns.

    In a list of sinks the path has no name of a plugin; then any sink may have the option.
    """
    if len(keys) not in (2, 3) or keys[0].lower() != "sink":
        return False
    name, key = keys[-2].lower(), keys[-1].lower()
    points = (point for point in entry_points(group=GROUP) if len(keys) == 2 or point.name.lower() == name)
    return any(key in _options_with_columns(point) for point in points)


def _options_with_columns(point: EntryPoint) -> Iterable[str]:
    """Return the names of such options of a sink; none if it cannot be loaded, which is reported where it is used."""
    try:
        return [option.key.lower() for option in point.load().declared if option.names_columns]
    except Exception:
        return ()
