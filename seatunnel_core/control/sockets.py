"""Sockets of running jobs, one for each process and job, in an owner-only folder."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from seatunnel_core.errors import PlatformError
from seatunnel_storage_api.links import require_own_links

_LONGEST = 100
"""Maximum length of a socket path in bytes. Linux allows 107, macOS 103."""

_NAME_LENGTH = len("0123456789abcdef-4194304.sock")


def control_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's folder for sockets, and create it if it is missing.

    If the paths of the user's directories are too long for sockets, the folder is in the directory for temporary files,
    or else in ``/tmp``. Its owner and permissions are always checked.

    Raises:
        PlatformError: The folder belongs to another user, others may access it, or its path contains a symbolic link
            of another user.
    """
    runtime, state = environment.get("XDG_RUNTIME_DIR", ""), environment.get("XDG_STATE_HOME", "")
    state = state if os.path.isabs(state) else os.path.join(environment.get("HOME") or str(Path.home()), ".local/state")
    candidates = [Path(runtime, "seatunnel")] if os.path.isabs(runtime) and os.path.isdir(runtime) else []
    candidates.append(Path(state, "seatunnel", "run"))
    candidates.append(Path(tempfile.gettempdir(), f"seatunnel-{os.getuid()}"))
    fitting = [each for each in candidates if len(os.fsencode(each)) + 1 + _NAME_LENGTH <= _LONGEST]
    folder = fitting[0] if fitting else Path("/tmp", f"seatunnel-{os.getuid()}")
    try:
        require_own_links(str(folder))
    except OSError as error:
        raise PlatformError(f"jobs cannot create sockets in {folder}: {error}") from error
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PlatformError(
            f"{folder} must be a folder that only you can read and write, because jobs create sockets there: run "
            "chmod 700 on it, or remove it if another user owns it"
        )
    return folder


def socket_of(folder: Path, job_id: str, pid: int) -> Path:
    """Return the path of a process's socket for a job. It contains a hash, because job IDs may be too long."""
    return folder / f"{_hashed(job_id)}-{pid}.sock"


def sockets(folder: Path, job_id: str | None = None) -> tuple[Path, ...]:
    """Return the existing sockets of one job or of all jobs, including sockets left by killed processes."""
    return tuple(sorted(folder.glob(f"{'*' if job_id is None else _hashed(job_id)}-*.sock")))


def _hashed(job_id: str) -> str:
    return hashlib.sha256(job_id.encode()).hexdigest()[:16]
