"""Catalog of all functions. Importing this module registers the built-in ones."""

from collections.abc import Iterable

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.transforms.sql.call import FUNCTIONS, Function
from seatunnel_core.transforms.sql.functions import (
    choices,
    ciphers,
    encodings,
    lists,
    moment_texts,
    moments,
    murmur,
    numbers,
    patterns,
    texts,
)
from seatunnel_core.transforms.sql.functions.user_defined import user_defined

__all__ = [
    "FUNCTIONS",
    "choices",
    "ciphers",
    "encodings",
    "find",
    "lists",
    "moment_texts",
    "moments",
    "murmur",
    "names",
    "numbers",
    "patterns",
    "texts",
]


def find(name: str) -> Function | None:
    """Return the function with this upper-case name; raise ``UsageError`` if it is both built-in and in a package."""
    built_in, own = FUNCTIONS.get(name), user_defined().get(name)
    if built_in is not None and own is not None:
        raise UsageError(f"the function {name} of {own.origin} has the name of a built-in function; rename it")
    return built_in if own is None else own.loaded()


def names() -> Iterable[str]:
    """Return the names of all functions."""
    return (*FUNCTIONS, *user_defined())
