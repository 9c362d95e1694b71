"""The process that plans submitted jobs, played: it takes a moment of virtual time, and accepts every job."""

import asyncio
from collections.abc import Mapping
from typing import Any

from seatunnel_core.server.aside.planner import Planner

PLANNED_AFTER_S = 0.05


class PlayedPlanner(Planner):
    """A planner without a process; all jobs of the simulation can be planned."""

    async def plan(self, job: Mapping[str, Any]) -> Any:
        await asyncio.sleep(PLANNED_AFTER_S)
        return {"name": "SeaTunnel_Job", "warnings": []}
