"""Folder for Spark and Java logs."""

import os
from collections.abc import Mapping
from pathlib import Path


def log_folder(environ: Mapping[str, str]) -> Path:
    """Return ``$SEATUNNEL_HOME/logs`` if it is writable, otherwise a folder in the user's state directory."""
    home = environ.get("SEATUNNEL_HOME")
    if home and os.access(home, os.W_OK):
        return Path(home, "logs")
    state = environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "seatunnel" / "logs"
