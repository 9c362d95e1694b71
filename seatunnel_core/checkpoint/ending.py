"""How the end of a running pipeline was asked for."""

import enum


class Ending(enum.IntEnum):
    """How the end of the pipeline was asked for; a later one contains those before it."""

    NOT_ASKED = 0
    DRAIN = 1
    """To stop behind what the sources have already found."""

    STOP = 2
    """To stop as soon as the pipeline runs."""

    BEGUN = 3
    """The stop is under way, and takes a bounded time."""
