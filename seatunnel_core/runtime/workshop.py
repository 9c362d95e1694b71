"""What all pipelines of a job share."""

import asyncio
from concurrent.futures import Executor

from attrs import frozen

from seatunnel_core.spark.dispatch import UnitDispatcher


@frozen(kw_only=True)
class Workshop:
    """What all pipelines of a job share: the loop, the pools and Spark."""

    loop: asyncio.AbstractEventLoop
    storage_pool: Executor
    """For the checkpoint storage."""

    place_pool: Executor
    """For sources and sinks: listing, planning, preparing, committing, sweeping."""

    spark: "asyncio.Future[UnitDispatcher]"
    """Done when Spark runs, or could not be started."""
