"""One log file per job in a process that runs many jobs, selected by the job ID of each record."""

import logging
import re
import threading
from pathlib import Path
from typing import Any

from seatunnel_core.control.private_files import open_private, private_folder

_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_FORMAT = "%(asctime)s %(levelname)s %(message)s"


class _PrivateFile(logging.FileHandler):
    """A log file that only its owner may access."""

    def _open(self) -> Any:
        return open_private(Path(self.baseFilename), self.mode, encoding=self.encoding, errors=self.errors)


class JobLogs(logging.Handler):
    """Handler that writes each record with a ``job`` to ``job-<id>.log`` in ``folder``. Other records are ignored."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._files: dict[str, logging.FileHandler] = {}
        self._opening = threading.Lock()
        private_folder(folder)

    def path_of(self, job_id: str) -> Path:
        """Return the log file of a job."""
        return self._folder / f"job-{job_id}.log"

    def emit(self, record: logging.LogRecord) -> None:
        job_id = getattr(record, "job", None)
        if not isinstance(job_id, str) or not _NAME.fullmatch(job_id) or job_id in (".", ".."):
            return
        try:
            self._file(job_id).emit(record)
        except Exception:
            self.handleError(record)

    def _file(self, job_id: str) -> logging.FileHandler:
        with self._opening:
            if job_id not in self._files:
                handler = _PrivateFile(self.path_of(job_id), encoding="utf-8", delay=True)
                handler.setFormatter(logging.Formatter(_FORMAT))
                self._files[job_id] = handler
            return self._files[job_id]

    def forget(self, job_id: str) -> None:
        """Close the log file of a job. A later record reopens it."""
        with self._opening:
            handler = self._files.pop(job_id, None)
        if handler is not None:
            handler.close()

    def close(self) -> None:
        for job_id in tuple(self._files):
            self.forget(job_id)
        super().close()
