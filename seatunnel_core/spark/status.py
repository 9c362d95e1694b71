"""What Spark says of its own tasks."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger("seatunnel.spark")

_LOOK_S = 0.2
_QUIET_LOOKS = 2
"""Spark counts its tasks behind their backs: one may just have begun."""

_LOST_S = 10.0
"""A task that Spark counts no more, and that is still heard, has an executor that was declared lost."""


def speculates(context: "SparkContext") -> bool:
    """Whether Spark may attempt the only task of a job again beside itself: without a threshold it does not."""
    conf = context.getConf()
    on = str(conf.get("spark.speculation", "false")).lower() == "true"
    return on and conf.contains("spark.speculation.task.duration.threshold")


def active_tasks(context: "SparkContext", tag: str) -> int | None:
    """How many tasks run under a tag; ``None`` when Spark does not say."""
    try:
        tracker = context._jsc.sc().statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForTag(tag)]
        stages = [tracker.getStageInfo(number) for job in jobs if job.isDefined() for number in job.get().stageIds()]
        return sum(int(stage.get().numActiveTasks()) for stage in stages if stage.isDefined())
    except Exception as error:
        logger.debug("the tasks of %s could not be counted: %s", tag, error)
        return None


def wait_for_tasks(context: "SparkContext", tag: str, is_silent: Callable[[], bool], alive: Callable[[], bool]) -> None:
    """Wait until the tasks of a job that failed or was cancelled have ended: Spark tells a worker to stop seconds
    later.

    Args:
        is_silent: whether no process of such a task is heard any more.
        alive: whether there still is a Spark to wait for.
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
