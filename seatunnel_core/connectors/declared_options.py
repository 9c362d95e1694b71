"""Options of a module, in the order of their declaration, so that each is written once."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.connector_api.option import Option


def declared(module: Mapping[str, Any], first: Option[Any], last: Option[Any]) -> tuple[Option[Any], ...]:
    """Return the options of a module, ``vars()`` of it, from the first to the last, both included."""
    options = [value for value in module.values() if isinstance(value, Option)]
    names = [id(option) for option in options]
    return tuple(options[names.index(id(first)) : names.index(id(last)) + 1])
