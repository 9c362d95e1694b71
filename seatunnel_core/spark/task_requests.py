"""Short work items whose results a caller waits for: inspecting a discovered object or probing a sink."""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from attrs import frozen

from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.spark.task_batch import PackedObject
from seatunnel_core.spark.work import Result, Work
from seatunnel_core.work.failure import Failure, FailureKind

_THREADS = 2
_MOST_TOGETHER = 1000


@frozen
class _Request:
    work: Work
    packed: PackedObject
    answer: "Future[Any]"


class TaskRequests:
    """Queue of work items. Items that arrive while a Spark job is running form the next job. Thread-safe."""

    def __init__(self, run: Callable[[Sequence[tuple[Work, PackedObject]]], list[Result]]) -> None:
        """Create the queue; ``run`` runs work items as one Spark job and returns their results in order."""
        self._run = run
        self._waiting: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def close(self) -> None:
        """Stop the threads after all earlier requests are done."""
        for _ in self._threads:
            self._waiting.put(None)
        self._threads.clear()

    def ask(self, wanted: Sequence[tuple[Work, PackedObject]], kind: type[SeaTunnelError]) -> list[Any]:
        """Run work items and return their results in order. If an item fails, raise an error of type ``kind``."""
        while len(self._threads) < _THREADS:
            thread = threading.Thread(target=self._serve, name="seatunnel-requests", daemon=True)
            self._threads.append(thread)
            thread.start()
        answers: list[Future[Any]] = []
        for work, packed in wanted:
            answers.append(Future())
            self._waiting.put(_Request(work, packed, answers[-1]))
        results = [answer.result() for answer in answers]
        for failure in (result.failure for result in results if result.failure is not None):
            raise _as_error(failure, kind)
        return results

    def _serve(self) -> None:
        while (first := self._waiting.get()) is not None:
            requests = [first]
            while not self._waiting.empty() and len(requests) < _MOST_TOGETHER:
                more = self._waiting.get()
                if more is None:
                    self._waiting.put(None)
                    break
                requests.append(more)
            try:
                results = self._run([(request.work, request.packed) for request in requests])
            except Exception as error:
                for request in requests:
                    request.answer.set_exception(error)
            else:
                for request, result in zip(requests, results, strict=True):
                    request.answer.set_result(result)


def _as_error(failure: Failure, kind: type[SeaTunnelError]) -> SeaTunnelError:
    error = kind(failure.message)
    error.retryable, error.ends_job = failure.retryable, failure.kind is FailureKind.JOB
    error.code = failure.code or error.code
    if failure.kind is FailureKind.BUG:
        error.add_note(failure.detail)
    return error
