"""Runs the ``seatunnel`` command and notes what this process, the driver, opens, reads and writes.

``AUDIT_LOG`` names the file that gets a JSON line for each opened file, and at the end one with the counters of
``/proc/self/io``: those also count what native code reads and writes, which raises no audit event.
"""

import atexit
import json
import os
import sys
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> int:
    log = open(os.environ.pop("AUDIT_LOG"), "a", buffering=1, encoding="utf-8")  # noqa: SIM115  # until the end

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            writes = bool((arguments[2] or 0) & WRITING)
            log.write(json.dumps({"path": os.path.abspath(os.fsdecode(arguments[0])), "writes": writes}) + "\n")

    def note_counters() -> None:
        lines = Path("/proc/self/io").read_text().splitlines()
        log.write(json.dumps({"io": {name: int(value) for name, value in (line.split(": ") for line in lines)}}) + "\n")

    sys.addaudithook(hook)
    from seatunnel_core.cli.main import main as seatunnel

    atexit.register(note_counters)
    return seatunnel(sys.argv[1:])


if __name__ == "__main__":
    sys.path.pop(0)  # this folder's files are nobody's modules
    sys.exit(main())
