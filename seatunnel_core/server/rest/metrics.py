"""Endpoints for metrics of the requested node, in Prometheus formats."""

import asyncio
from typing import Any

from seatunnel_core.errors import PlatformError
from seatunnel_core.installing import install_command
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.metrics.figures import page
from seatunnel_core.server.rest.route import Handler, Request, Routes
from seatunnel_core.server.rest.shapes import TEXT

OPTION = "telemetry.metric.enabled"

_PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def _page(*, open_metrics: bool) -> Handler:
    async def handler(agent: Agent, _request: Request, _body: bytes) -> Any:
        from starlette.responses import Response

        if not agent.config.serves_metrics:
            raise RequestError(f"metrics are disabled: set {OPTION}: true in seatunnel.yaml", status=404)
        try:
            found = await agent.figures.samples()
            body = await asyncio.to_thread(page, found, agent.config.cluster, open_metrics=open_metrics)
        except ImportError as error:
            raise PlatformError(f"metrics need another package ({error}): {install_command('cluster')}") from error
        return Response(body, media_type=_OPEN if open_metrics else _PLAIN)

    return handler


ROUTES = Routes(to_leader=False, answer=TEXT)
ROUTES.get("/metrics", "Metrics of one node, in the Prometheus text format.", kind="text/plain")(
    _page(open_metrics=False)
)
ROUTES.get("/openmetrics", "Metrics of one node, in the OpenMetrics format.", kind="application/openmetrics-text")(
    _page(open_metrics=True)
)
