"""Ways to end a running pipeline."""

import enum


class Ending(enum.IntEnum):
    """Ways to end a pipeline, in order of urgency: each value includes the previous ones."""

    NOT_ASKED = 0
    DRAIN = 1
    """Stop after processing the splits that the sources have already found."""

    STOP = 2
    """Stop at once, or when the pipeline enters the running phase if it has not done so yet."""

    BEGUN = 3
    """The stop is in progress, and takes a bounded time."""
