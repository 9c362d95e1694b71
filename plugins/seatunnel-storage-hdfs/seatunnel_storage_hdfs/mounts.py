"""File system of a folder."""

import os
import re

_NETWORK = re.compile(r"nfs\d*|cifs|smb\d*|9p|fuse\.sshfs|fuse\.glusterfs|afs|lustre|beegfs")
_OCTAL = re.compile(r"\\([0-7]{3})")


def network_file_system(folder: str, mounts: str = "/proc/self/mountinfo") -> str | None:
    """Return the type of a folder's network file system, such as ``nfs4``; ``None`` if it is local or unknown."""
    kind = file_system(folder, mounts)
    return kind if _NETWORK.fullmatch(kind) else None


def file_system(folder: str, mounts: str = "/proc/self/mountinfo") -> str:
    """Return the type of a folder's file system, such as ``ext4``; empty if it is unknown."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            kinds = dict(_mount(line) for line in file)
    except OSError:
        return ""
    path = os.path.realpath(folder)
    while path not in kinds and path != "/":
        path = os.path.dirname(path)
    return kinds.get(path, "")


def _mount(line: str) -> tuple[str, str]:
    """Return the mount point and type in a line of mountinfo (proc(5)), where the type follows a single hyphen."""
    before, _, after = line.partition(" - ")
    point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), before.split(" ")[4])
    return point, after.split(" ")[0]
