"""Whose a connection is that a server has: a server also counts those that a client has closed, until it notices."""

import os
import re
from contextlib import suppress
from pathlib import Path


def owners(*among: int) -> dict[int, int]:
    """The process that has a port of this machine as its end of a connection, by that port; ``among`` these, or all."""
    ports = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        parts = line.split()
        ports[parts[9]] = int(parts[1].rpartition(":")[2], 16)
    found = {}
    for process in map(str, among) if among else filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            for file in os.scandir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    inode = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(file.path))
                    if inode and inode[1] in ports:
                        found[ports[inode[1]]] = int(process)
    return found
