"""State of tasks as reported by Spark."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext

logger = logging.getLogger("seatunnel.spark")

_LOOK_S = 0.2
_QUIET_LOOKS = 2
"""Number of consecutive checks that must not find any task, because Spark's task counts are delayed."""

_LOST_S = 10.0
"""Time after which a connected task that Spark does not count is assumed to belong to a lost executor, in seconds."""


def speculates(conf: "SparkConf") -> bool:
    """Return True if Spark may run two attempts of a task concurrently even if its Spark job has only this task."""
    on = str(conf.get("spark.speculation", "false")).lower() == "true"
    return on and conf.contains("spark.speculation.task.duration.threshold")


def active_tasks(context: "SparkContext", tag: str) -> int | None:
    """Return the number of running tasks with a job tag; ``None`` if Spark does not report it."""
    try:
        tracker = context._jsc.sc().statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForTag(tag)]
        stages = [tracker.getStageInfo(number) for job in jobs if job.isDefined() for number in job.get().stageIds()]
        return sum(int(stage.get().numActiveTasks()) for stage in stages if stage.isDefined())
    except Exception as error:
        logger.debug("the tasks of %s could not be counted: %s", tag, error)
        return None


def wait_for_tasks(context: "SparkContext", tag: str, is_silent: Callable[[], bool], alive: Callable[[], bool]) -> None:
    """Wait until the tasks of a failed or cancelled job have ended.

    Spark stops a worker only several seconds later. If a task is still connected ten seconds after Spark last counted
    one, its executor was declared lost, and the wait ends. ``is_silent`` returns True if no task is connected.
    """
    quiet, uncounted_since = 0, time.monotonic()
    while quiet < _QUIET_LOOKS and alive():
        time.sleep(_LOOK_S)
        active = active_tasks(context, tag)
        if active:
            quiet, uncounted_since = 0, time.monotonic()
        elif is_silent():
            quiet += 1
        elif active is not None and time.monotonic() - uncounted_since > _LOST_S:
            return
