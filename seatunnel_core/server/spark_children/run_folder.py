"""The folders of a member's Spark: what only this machine and this boot of it needs, and nobody else may read."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from seatunnel_core.control.sockets import control_folder


def run_folder(cluster: str, address: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of a member, with mode 700; it is made when it is not there."""
    name = hashlib.sha256(f"{cluster}\n{address}".encode()).hexdigest()[:10]
    folder = control_folder(environment) / "spark" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
