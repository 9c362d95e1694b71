"""Collection of a module's options in declaration order, so that they need not be listed twice."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.connector_api.option import Option


def declared(module: Mapping[str, Any], first: Option[Any], last: Option[Any]) -> tuple[Option[Any], ...]:
    """Return the options from ``first`` to ``last``, inclusive, in the ``vars()`` of a module."""
    options = [value for value in module.values() if isinstance(value, Option)]
    names = [id(option) for option in options]
    return tuple(options[names.index(id(first)) : names.index(id(last)) + 1])
