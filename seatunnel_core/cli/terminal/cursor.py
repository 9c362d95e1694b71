"""Terminal's cursor, which the table of a running job hides."""

import os
import sys

_SHOW = "\x1b[?25h"


def show_cursor() -> None:
    """Show the terminal's cursor, in case a command killed with ``kill -9`` has left it hidden."""
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        sys.stdout.write(_SHOW)
        sys.stdout.flush()
