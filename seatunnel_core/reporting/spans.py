"""OpenTelemetry spans for checkpoints and work units. Without the library, no spans are recorded.

The tracer provider of the application determines the destination of spans. Worker processes of a cluster, which have no
application, send them over OTLP if ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any

try:
    from opentelemetry import trace
except ImportError:
    _tracer: Any = None
else:
    _tracer = trace.get_tracer("seatunnel")

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"

logger = logging.getLogger("seatunnel.run")


def record_span(name: str, duration_ms: int, attributes: Mapping[str, Any], *, error: str = "") -> None:
    """Record an operation that ends now. The names in ``attributes`` get the prefix ``seatunnel.``."""
    if _tracer is None:
        return
    ended_ns = time.time_ns()
    named = {f"seatunnel.{key}": value for key, value in attributes.items()}
    span = _tracer.start_span(name, start_time=ended_ns - 1_000_000 * duration_ms, attributes=named)
    if error:
        span.set_status(trace.Status(trace.StatusCode.ERROR, error))
    span.end(ended_ns)


def send_spans(environment: Mapping[str, str]) -> None:
    """Send the spans of this process to the endpoint in the environment, if set. Missing requirements are logged."""
    if _tracer is None or not environment.get(ENDPOINT):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        logger.warning("%s is set, but spans are not sent: %s", ENDPOINT, error)
        return
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
