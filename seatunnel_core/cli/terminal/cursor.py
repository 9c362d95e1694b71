"""The terminal's cursor, which the table of a running job hides."""

import os
import sys

_SHOW = "\x1b[?25h"


def show_cursor() -> None:
    """Show the cursor of this terminal again, because a command killed with ``kill -9`` could not do so."""
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        sys.stdout.write(_SHOW)
        sys.stdout.flush()
