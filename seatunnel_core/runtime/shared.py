"""Resources shared by all pipelines of a job."""

import asyncio

from attrs import field, frozen

from seatunnel_core.runtime.thread_pool import Inbox, Pool
from seatunnel_core.spark.dispatch import UnitDispatcher


@frozen(kw_only=True)
class SharedResources:
    """The loop, the pools and Spark, shared by all pipelines of a job."""

    loop: asyncio.AbstractEventLoop
    storage_pool: Pool
    """Threads that call the checkpoint storage."""

    connector_pool: Pool
    """Threads that call sources and sinks: listing, planning, preparing, committing, sweeping."""

    spark: "asyncio.Future[UnitDispatcher]"
    """Done once Spark runs or could not be started."""

    inbox: Inbox = field(init=False)
    """Calls that other threads schedule on the loop."""

    @inbox.default
    def _of_the_loop(self) -> Inbox:
        return Inbox(self.loop)
