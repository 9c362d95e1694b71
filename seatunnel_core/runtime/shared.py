"""What all pipelines of a job share."""

import asyncio

from attrs import field, frozen

from seatunnel_core.runtime.thread_pool import Inbox, Pool
from seatunnel_core.spark.dispatch import UnitDispatcher


@frozen(kw_only=True)
class SharedResources:
    """The loop, the pools and Spark, which all pipelines of a job share."""

    loop: asyncio.AbstractEventLoop
    storage_pool: Pool
    """The threads that call the checkpoint storage."""

    connector_pool: Pool
    """The threads that call sources and sinks: listing, planning, preparing, committing, sweeping."""

    spark: "asyncio.Future[UnitDispatcher]"
    """Done when Spark runs, or could not be started."""

    inbox: Inbox = field(init=False)
    """The calls that other threads want to have made on the loop."""

    @inbox.default
    def _of_the_loop(self) -> Inbox:
        return Inbox(self.loop)
