"""``seatunnel --config FILE``: reads, plans and runs a job, and shows its progress and its closing table."""

import contextlib
import os
from collections.abc import Callable, Iterator

from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.cli.arguments import RunArguments
from seatunnel_core.cli.job_files import Request, begun_before_this, read_job, warnings_first
from seatunnel_core.cli.progress import Display
from seatunnel_core.cli.resume import resume_command
from seatunnel_core.cli.screen import screen
from seatunnel_core.cli.watch import Interrupts, counted_interrupts, watch
from seatunnel_core.config.engine_options import PRINT_JOB_METRICS
from seatunnel_core.config.env import JOB_NAME
from seatunnel_core.job.restoring import Restore
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.session import archive_classes
from seatunnel_core.spark.starting.settings import cache_folder

EXIT_CODES = {JobOutcome.FINISHED: 0, JobOutcome.FAILED: 1, JobOutcome.STOPPED: 130}


def run(arguments: RunArguments, *, last: bool = False) -> int:
    """Run the job to completion and return the exit code; ``last`` is True if the process exits afterwards."""
    request = read_job(arguments)
    find_java(os.environ, cache_folder(os.environ))  # before the job stores anything that could be resumed
    interval_s = request.engine.options[PRINT_JOB_METRICS]
    with (
        counted_interrupts(last=last) as interrupts,
        screen(interval_s=interval_s, log_level=arguments.log_level, log_format=arguments.log_format) as display,
    ):
        report = _run_and_watch(arguments, request, display, interrupts, last=last)
    if last:
        archive_classes()
    return EXIT_CODES[report.outcome]


def _run_and_watch(
    arguments: RunArguments, request: Request, display: Display, interrupts: Interrupts, *, last: bool
) -> JobReport:
    begun_before = begun_before_this(arguments, request)
    job_id = arguments.restore or arguments.set_job_id or begun_before or new_job_id()
    resume = resume_command(arguments.typed, job_id, request.secrets)
    name = arguments.name or request.raw.env[JOB_NAME]
    if begun_before is not None:
        display.say(f"The last job of this name, {job_id}, has not ended and is resumed.")

    def begun() -> None:
        if arguments.begun_to is not None:
            _notify_begun(arguments.begun_to)
        display.say(f"Job {job_id} ({name}) runs in process {os.getpid()}. If it stops, resume it with:\n  {resume}")

    restore = Restore() if begun_before is not None else _restore(arguments)
    job_run = _job_run(arguments, request, job_id, restore, on_begun=begun)
    try:
        with warnings_first(request):
            job_run.start()
        for sentence in job_run.notes:
            display.say(sentence)
        for warning in _warnings(job_run):
            display.say(f"warning: {warning}")
        with _page(job_run, display) if arguments.ui else contextlib.nullcontext():
            report = watch(job_run, display, interrupts, restored=restore is not None)
        interrupts.exit_code = EXIT_CODES[report.outcome]
        display.conclude(report, resume)  # before Spark is stopped, which takes a second
    finally:
        if not interrupts.unanswered:  # after a third interrupt, do not wait for the pool, the storage or Spark
            job_run.close(last=last)
    return report


def _job_run(
    arguments: RunArguments, request: Request, job_id: str, restore: Restore | None, on_begun: Callable[[], None]
) -> JobRun:
    return JobRun(
        request.raw,
        request.engine,
        registry=lookup,
        job_id=job_id,
        restore=restore,
        begin_with=ForeignSavepoint.of(arguments.restoring),
        master=arguments.master,
        name=arguments.name,
        jvm_options=(arguments.jvm_options,) if arguments.jvm_options else (),
        on_begun=on_begun,
    )


@contextlib.contextmanager
def _page(job_run: JobRun, display: Display) -> Iterator[None]:
    """Serve the job's page while the job runs. If no port can be opened, show a warning and continue."""
    from seatunnel_core.page.job_server import JobPage

    try:
        page = JobPage(job_run)
    except OSError as error:
        display.say(f"warning: the web page of this job could not be started: {error}")
        yield
        return
    with contextlib.closing(page):
        display.say(f"The job in a browser: {page.address}")
        yield


def _notify_begun(descriptor: int) -> None:
    """Notify the process that started this one in the background, if it still exists."""
    with contextlib.suppress(OSError):
        os.write(descriptor, b"1")
        os.close(descriptor)


def _restore(arguments: RunArguments) -> Restore | None:
    return arguments.restoring if arguments.restore is not None else None


def _warnings(job_run: JobRun) -> tuple[str, ...]:
    return tuple(str(problem) for problem in job_run.job.warnings) if job_run.job is not None else ()
