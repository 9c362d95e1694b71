"""Cursor of the terminal, which the table of a running job hides."""

import os
import sys

_SHOW = "\x1b[?25h"


def show_cursor() -> None:
    """Show the cursor again, in case an earlier command was killed while it was hidden."""
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        sys.stdout.write(_SHOW)
        sys.stdout.flush()
