"""The ways to end a running pipeline."""

import enum


class Ending(enum.IntEnum):
    """A way to end the pipeline; a later one includes those before it."""

    NOT_ASKED = 0
    DRAIN = 1
    """To stop behind what the sources have already found."""

    STOP = 2
    """To stop as soon as the pipeline runs."""

    BEGUN = 3
    """The stop is under way, and takes a bounded time."""
