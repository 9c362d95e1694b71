"""Read access to stored checkpoints for REST requests, in a few dedicated threads and with a time limit."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from seatunnel_core import inspector
from seatunnel_core.clock import wall_clock
from seatunnel_core.config.engine import EngineConfig, StorageConfig, override_storage
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.inspector.record import pipeline
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.state.records import JobRecord
from seatunnel_core.server.submitted_job import SubmittedJob
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import CheckpointStorageError

ANSWER_S = 10.0
"""Time limit for a read, in seconds."""

AT_ONCE = 2
MOST_WAITING = 20
"""Maximum number of waiting requests; further ones get status 503."""


class JobStorage:
    """Reader of stored checkpoints. Jobs without their own storage use the storage of ``engine``."""

    def __init__(self, engine: EngineConfig) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(AT_ONCE, "storage")
        self._waiting = 0
        self._counting = threading.Lock()

    def now_ms(self) -> int:
        """Return the current time, in milliseconds since 1970."""
        return int(wall_clock() * 1000)

    async def pipelines(self, job_id: str, job: JobRecord | None) -> list[dict[str, Any]] | None:
        """Return the stored pipelines of a job as records of the inspector; ``None`` if the job does not exist."""
        with self._counting:
            if self._waiting >= MOST_WAITING:
                raise RequestError("the checkpoint storage is busy: try again", status=503, reason="busy")
            self._waiting += 1
        reading = asyncio.get_running_loop().run_in_executor(self._pool, self._read, job_id, job)
        reading.add_done_callback(self._done)
        try:
            async with asyncio.timeout(ANSWER_S):
                return await asyncio.shield(reading)
        except TimeoutError:
            message = f"the checkpoint storage has not responded for {ANSWER_S:.0f} s"
            raise RequestError(message, status=503, reason="storage_unavailable") from None

    def _done(self, reading: "asyncio.Future[Any]") -> None:
        with self._counting:
            self._waiting -= 1
        if not reading.cancelled():
            reading.exception()  # no request may be waiting for it any more

    def _read(self, job_id: str, job: JobRecord | None) -> list[dict[str, Any]] | None:
        config = self._storage_of(job)
        try:
            storage = open_storage(config.type, config.effective, read_only=True)
        except CheckpointStorageError as error:
            raise RequestError(str(error), status=503, reason="storage_unavailable") from error
        try:
            survey = inspector.survey_job(storage, job_id)
        except UsageError:
            return None
        except CheckpointStorageError as error:
            raise RequestError(str(error), status=503, reason="storage_unavailable") from error
        finally:
            storage.close()
        return [pipeline(each, with_checkpoints=True) for each in survey.pipelines.values()]

    def _storage_of(self, job: JobRecord | None) -> StorageConfig:
        if job is None:
            return self._engine.storage
        try:
            return override_storage(self._engine, SubmittedJob.of(job).read(loads_sinks=False).storage, Problems())
        except SeaTunnelError:  # the version that accepted the job could parse it
            return self._engine.storage

    def close(self) -> None:
        """Cancel pending reads."""
        self._pool.shutdown(wait=False, cancel_futures=True)
