"""Warnings about options that have no effect because another option is not set."""

from typing import Any

from seatunnel_core.connector_api.option import Option, Options


def without_effect(options: Options, *needed: tuple[Option[Any], str, Any]) -> tuple[str, ...]:
    """Return a warning for each option that is set although its prerequisite is not met.

    ``needed`` contains an option, a description of its prerequisite, and True if the prerequisite is met.
    """
    return tuple(
        f"option {option.key!r} has no effect: it requires {what}"
        for option, what, given in needed
        if options.is_set(option) and not given
    )
