"""Owner-only folders for the runtime files of a member's Spark processes on this machine."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from seatunnel_core.control.sockets import control_folder


def run_folder(cluster: str, address: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of a member, created with mode 700 if missing."""
    name = hashlib.sha256(f"{cluster}\n{address}".encode()).hexdigest()[:10]
    folder = control_folder(environment) / "spark" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
