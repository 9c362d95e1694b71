"""Ways to end a running pipeline."""

import enum


class Ending(enum.IntEnum):
    """Ways to end a pipeline, in order of urgency."""

    NOT_ASKED = 0
    DRAIN = 1
    """Stop after processing the splits that the sources have already found."""

    STOP = 2
    """Stop at once, or as soon as the pipeline is running."""

    BEGUN = 3
    """A stop is in progress; it takes a bounded time."""
