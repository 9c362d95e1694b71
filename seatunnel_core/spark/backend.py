"""Spark backend: a running Spark application, and the operations that the engine needs from it.

It exchanges descriptions of work and of staged output with Spark, but no rows. All methods are thread-safe. A method
that runs a Spark job blocks until the job ends; another thread may cancel the job by its tag.
"""

import itertools
import logging
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve

from seatunnel_core.connector_api.sink import FrameSink, Sink, SinkContext
from seatunnel_core.connector_api.source import DiscoveredObject, FrameSource, PlanningContext, Source
from seatunnel_core.connector_api.transform import DataFrameTransform
from seatunnel_core.errors import CommitError, PacketLostError, PlatformError, SeaTunnelError, SinkError, SourceError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.frames.frames import SparkFrames, both_parts
from seatunnel_core.spark.frames.task import FrameWork
from seatunnel_core.spark.frames.unit import direct_works
from seatunnel_core.spark.operator_chain import FramePlan, OperatorChain
from seatunnel_core.spark.pickles import Pickles
from seatunnel_core.spark.report_channel import Exchange, TaskListener
from seatunnel_core.spark.shipping import cores, executors
from seatunnel_core.spark.spark_errors import is_rejected, lost_task, other_python, spark_says
from seatunnel_core.spark.starting import session
from seatunnel_core.spark.starting.session import LOOPBACK
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.spark.status import speculates, wait_for_tasks
from seatunnel_core.spark.task import run_batches
from seatunnel_core.spark.task_batch import PackedObject, batch_of
from seatunnel_core.spark.task_requests import TaskRequests
from seatunnel_core.spark.work import InspectWork, ProbeWork, Result, TaskBatch, UnitResult, Work
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.unit import UnitAttempt

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

logger = logging.getLogger("seatunnel.spark")

_NOT_OPEN = "Spark is not running: the Spark backend was not started or has stopped"


class SparkBackend:
    """Spark application that was started or adopted by ``start``. ``stop`` does not end an adopted application."""

    def __init__(self, settings: SparkSettings) -> None:
        self.settings = settings
        self._running: session.RunningSpark | None = None
        self._slots = 0
        self.holds_back = False
        """True if Spark never runs more than ``slots`` tasks at once. False for a cluster, because executors may join,
        and if ``spark.default.parallelism`` is set, because it may be less than the number of processors."""
        self.speculates = False
        """True if Spark may run two attempts of a task concurrently even if its Spark job has only this task."""
        self._bases: dict[int, RDD[int]] = {}
        self._pickles = Pickles(self._unique_name, lambda: self.context)
        self._lock = threading.Lock()
        self._name = uuid.uuid4().hex[:12]
        self._numbers = itertools.count(1)
        self._frames: SparkFrames | None = None
        self._exchange: Exchange | None = None
        self._requests = TaskRequests(self._run_together)
        self._given_up = threading.Event()

    # -- start and stop -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start Spark, or adopt a running application. Do nothing if Spark is already started."""
        if self._running is not None:
            return
        self._running = session.start(self.settings)
        try:
            if not self.shares_disk:
                self._pickles.ship(self.settings, self._given_up)
            self._slots = max(1, int(self.context.defaultParallelism))
            conf = self.context.getConf()  # about a hundred calls to the JVM
            host = str(conf.get("spark.driver.host", LOOPBACK))
            self._exchange = Exchange(host, str(conf.get("spark.driver.bindAddress", host)))
            self.speculates = speculates(conf)
            chosen = conf.contains("spark.default.parallelism")
            self.holds_back = str(self.context.master).startswith("local[") and not chosen
        except Exception as error:
            lost = not isinstance(error, SeaTunnelError) and not session.alive(self._running)
            where, log = (
                f"the cluster at {self.context.master} ended the application while the application was starting",
                self.log_file,
            )
            self.stop()
            if lost:
                raise PlatformError(f"{where}: {spark_says(error)}; see {log}") from error
            if said := other_python(error):
                raise PlatformError(said) from error
            raise

    def give_up(self) -> None:
        """Abort a ``start`` that waits for the executors of a cluster; ``start`` then raises PlatformError."""
        self._given_up.set()

    def stop(self) -> None:
        """Stop Spark, unless the application or another job uses it."""
        if (running := self._let_go()) is not None:
            session.stop(running)

    def leave(self) -> None:
        """Stop Spark like ``stop``, but without the wait of about a second. For a process that is about to exit."""
        if (running := self._let_go()) is not None:
            session.leave(running)

    def _let_go(self) -> session.RunningSpark | None:
        running, self._running = self._running, None
        self._requests.close()
        self._bases.clear()
        self._pickles.forget()
        self._frames = None
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None
        return running

    def require_open(self) -> None:
        """Raise ``PlatformError`` unless the backend is running."""
        _ = self.context

    @property
    def context(self) -> "SparkContext":
        """Context of the running Spark. Raises PlatformError if there is none."""
        return self._open.context

    @property
    def _open(self) -> session.RunningSpark:
        if self._running is None:
            raise PlatformError(_NOT_OPEN)
        return self._running

    @property
    def slots(self) -> int:
        """Number of tasks that run concurrently."""
        return self._slots

    def count_slots(self) -> int:
        """Recount the slots of a cluster, because its executors may have changed, and return their number."""
        self._slots = max(1, cores(self.context))
        return self._slots

    @property
    def application(self) -> str:
        """Application ID at the Spark master; empty during startup and if Spark runs locally."""
        running = self._running
        if running is None or str(running.context.master).startswith("local"):
            return ""
        return str(running.context.applicationId)

    def executors(self) -> frozenset[str]:
        """Return the addresses of a cluster's executors; empty if Spark runs locally."""
        return frozenset() if self.shares_disk else executors(self.context)

    def warm(self) -> None:
        """Make the Python processes of all slots import the shipped modules before the first work unit."""
        self._pickles.warm(self._slots)

    @property
    def shares_disk(self) -> bool:
        """True if tasks run on the driver's machine and can access its files."""
        return str(self.context.master).startswith("local")

    @property
    def log_file(self) -> str | None:
        """Path of the Spark and Java log; ``None`` if the session is adopted or Spark is not running."""
        path = self._running.log_file if self._running is not None else None
        return str(path) if path is not None else None

    # -- jobs -----------------------------------------------------------------------------------------------------

    def pack_chain(self, chain: OperatorChain) -> PackedObject:
        """Return the pickled chain; later calls return the same object."""
        return self._pickles.pack_chain(chain)

    def run(self, batches: Sequence[TaskBatch], tag: str) -> list[Result]:
        """Run a Spark job with one task per batch, and return the results of all work items in order.

        Raises:
            PacketLostError: The whole job failed, or ``cancel(tag)`` stopped it.
            PlatformError: Spark has ended.
        """
        with self._tagged(tag):
            found = self._run(batches)
        return [result for _, result in found]

    def run_units(self, batch: TaskBatch, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        """Run a Spark job with a single task, which requests units from ``listener`` and reports their results.

        Return the results that could not be reported, with the indexes of their work items. The exceptions are the same
        as for ``run``. If the task writes directly, they are raised only after the task has ended or its executor has
        been declared lost.
        """
        exchange = self._exchange
        if exchange is None:
            raise PlatformError(_NOT_OPEN)
        with exchange.listening(listener) as address:
            try:
                with self._tagged(tag):
                    found = self._run([evolve(batch, channel=address)])
            except PacketLostError:
                if batch.writes_at_once:
                    wait_for_tasks(self.context, tag, lambda: exchange.is_silent(address), self.is_alive)
                raise
        return [(number, result) for number, result in found if isinstance(result, UnitResult)]

    def _run(self, batches: Sequence[TaskBatch]) -> list[tuple[int, Result]]:
        base = self._base(len(batches))
        found: list[tuple[int, Result]] = base.mapPartitionsWithIndex(partial(run_batches, tuple(batches))).collect()
        return found

    def run_on_frames(self, chain: OperatorChain, attempt: UnitAttempt, tag: str) -> UnitResult:
        """Run a work unit on the DataFrame path. The result and the exceptions are the same as for ``run``."""
        packed = self.pack_chain(chain)
        work = FrameWork(chain=packed.key, carrier=packed.carrier, attempt=attempt)
        with self._tagged(tag):
            framed = self._spark_frames().run_unit(chain, work, tag, pool=f"{chain.job_id}-{chain.pipeline_id}")
        works = [] if framed.failure is not None else list(direct_works(chain, packed.key, attempt, self._slots))
        if not works:
            return framed
        direct = self.run([batch_of([(work, packed)]) for work in works], tag)
        return both_parts(chain, attempt.unit, framed, [result for result in direct if isinstance(result, UnitResult)])

    def frame_plan(self, transform: DataFrameTransform, arriving: Mapping[str, TableSchema]) -> FramePlan:
        """Return the output schema of a DataFrame transform for its inputs, and whether it combines rows."""
        return self._spark_frames().plan(transform, arriving)

    def source_schema(self, source: FrameSource) -> TableSchema:
        """Return the schema of a source that Spark reads. Raise SourceError if Spark cannot read it."""
        return self._spark_frames().source_schema(source)

    def begin(self, sink: FrameSink, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Prepare the target of a sink that needs Spark. Raise SinkError if the sink or Spark fails."""
        try:
            with self._tagged(self.new_tag()):
                self._spark_frames().begin(sink, schemas, context)
        except PacketLostError as error:
            raise SinkError(f"pipeline {context.pipeline_id}, sink {sink.identifier}: {error}") from error

    def publish(
        self, sink: FrameSink, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool
    ) -> None:
        """Publish the staged output of a sink that needs Spark.

        Raises:
            CommitError: The sink or Spark failed. Spark's failures are ``retryable`` unless Spark rejects the plan.
        """
        try:
            with self._tagged(self.new_tag()):
                self._spark_frames().publish(sink, committables, context, may_be_committed=may_be_committed)
        except PacketLostError as error:
            raise CommitError(
                f"pipeline {context.pipeline_id}, sink {sink.identifier}: {error}",
                retryable=not is_rejected(error.__cause__),
            ) from error

    def _spark_frames(self) -> SparkFrames:
        running = self._open
        with self._lock:
            if self._frames is None:
                self._frames = SparkFrames(session.session_of(running), self._slots)
            return self._frames

    def cancel(self, tag: str) -> None:
        """Cancel the Spark job with this tag, if any, without waiting for it to end."""
        if self._running is None:
            return
        try:
            self.context.cancelJobsWithTag(tag)
        except Exception as error:
            logger.debug("job %s could not be cancelled: %s", tag, error)

    def new_tag(self) -> str:
        """Return a unique job tag."""
        return f"seatunnel-{self._unique_name()}"

    def _unique_name(self) -> str:
        return f"{self._name}-{next(self._numbers)}"

    @contextmanager
    def _tagged(self, tag: str) -> Iterator[None]:
        """Tag the Spark jobs that this thread starts, and convert py4j errors."""
        context = self.context
        try:
            session.restore_sockets(self._open)
            context.addJobTag(tag)
            try:
                yield
            finally:
                context.removeJobTag(tag)
        except SeaTunnelError:
            raise
        except Exception as error:
            if self.is_alive():
                raise lost_task(error) from error
            log = f"; see {self.log_file}" if self.log_file else ""
            raise PlatformError(
                f"Spark's JVM has ended, because it was killed, was stopped, or ran out of memory{log}. Resume the "
                "job to continue from its latest checkpoint"
            ) from error

    def is_alive(self) -> bool:
        """Return True if Spark and its JVM are running."""
        return self._running is not None and session.alive(self._running)

    def _base(self, tasks: int) -> "RDD[int]":
        """Return an RDD with ``tasks`` partitions of placeholder elements.

        Later jobs reuse it, because Spark writes a file for each new RDD.
        """
        base = self._bases.get(tasks)
        if base is None:
            base = self._bases[tasks] = self.context.parallelize(range(tasks), tasks)
        return base

    # -- requests -------------------------------------------------------------------------------------------------

    def inspect(
        self, source: Source, items: Sequence[DiscoveredObject], planning: PlanningContext
    ) -> tuple[DiscoveredObject, ...]:
        """Inspect the objects in Spark tasks, and return them in order. Concurrent calls share Spark jobs."""
        packed = self._pickles.pack(source)
        works = [InspectWork(source=packed.key, items=(item,), planning=planning) for item in items]
        found = self._requests.ask([(work, packed) for work in works], SourceError)
        return tuple(item for result in found for item in result.items)

    def probe(self, contexts: Sequence[tuple[Sink, SinkContext]], token: str) -> None:
        """Write a token to the target of each sink from Spark tasks, for ``Sink.prove``."""
        packed = [self._pickles.pack(sink) for sink, _ in contexts]
        works = [
            ProbeWork(sink=each.key, context=context, token=token)
            for each, (_, context) in zip(packed, contexts, strict=True)
        ]
        self._requests.ask(list(zip(works, packed, strict=True)), SinkError)

    def _run_together(self, works: Sequence[tuple[Work, PackedObject]]) -> list[Result]:
        """Run the work items in one Spark job, with enough task batches to keep all slots busy."""
        tasks = min(len(works), 2 * self._slots)
        cuts = [len(works) * task // tasks for task in range(tasks + 1)]
        batches = [batch_of(works[start:end]) for start, end in itertools.pairwise(cuts)]
        return self.run(batches, self.new_tag())
