"""Resources shared by all pipelines of a job."""

import asyncio

from attrs import field, frozen

from seatunnel_core.runtime.thread_pool import Inbox, Pool
from seatunnel_core.spark.dispatch import UnitDispatcher


@frozen(kw_only=True)
class SharedResources:
    """Event loop, thread pools and Spark, shared by all pipelines of a job."""

    loop: asyncio.AbstractEventLoop
    storage_pool: Pool
    """Threads that call the checkpoint storage."""

    connector_pool: Pool
    """Threads that call sources and sinks, for example to list, prepare, commit or sweep."""

    spark: "asyncio.Future[UnitDispatcher]"
    """Future that is done once Spark runs or has failed to start."""

    inbox: Inbox = field(init=False)
    """Queue of calls from other threads to the loop."""

    @inbox.default
    def _of_the_loop(self) -> Inbox:
        return Inbox(self.loop)
