"""Which file system a folder lies on."""

import os
import re

_NETWORK = re.compile(r"nfs\d*|cifs|smb\d*|9p|fuse\.sshfs|fuse\.glusterfs|afs|lustre|beegfs")
_OCTAL = re.compile(r"\\([0-7]{3})")


def network_file_system(folder: str, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The kind of the network file system that ``folder`` lies on, such as ``nfs4``; ``None`` for local ones.

    Also ``None`` where the system does not tell (macOS has no such file).
    """
    kind = file_system(folder, mounts)
    return kind if _NETWORK.fullmatch(kind) else None


def file_system(folder: str, mounts: str = "/proc/self/mountinfo") -> str:
    """The kind of the file system that ``folder`` lies on, such as ``ext4``; empty where the system does not tell."""
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
    """Mount point and kind of one line of mountinfo (proc(5)); the kind stands after a lone hyphen."""
    before, _, after = line.partition(" - ")
    point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), before.split(" ")[4])
    return point, after.split(" ")[0]
