"""Spans for checkpoints and work units: with OpenTelemetry they are recorded, without it nothing is."""

import threading
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import AbortKind
from seatunnel_core.reporting import spans
from seatunnel_core.reporting.counters import Metrics
from seatunnel_core.reporting.notices import Notices, PipelineLog
from seatunnel_core.reporting.spans import record_span, send_spans
from tests.servers.http_stand_in import StandIn, stand_in


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Give what keeps all spans."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(spans, "_tracer", provider.get_tracer("seatunnel"))
    yield kept
    provider.shutdown()


def lasted_ms(span: ReadableSpan) -> float:
    assert span.end_time is not None
    assert span.start_time is not None
    return (span.end_time - span.start_time) / 1e6


def test_a_span_ends_now_and_began_as_long_before_as_it_took(recorded: InMemorySpanExporter) -> None:
    record_span("unit", 250, {"job": "7", "rows": 3})
    record_span("unit", 1, {"job": "7"}, error="transient")
    first, second = recorded.get_finished_spans()
    assert (first.name, lasted_ms(first)) == ("unit", 250)
    assert dict(first.attributes or {}) == {"seatunnel.job": "7", "seatunnel.rows": 3}
    assert (first.status.is_ok, second.status.is_ok, second.status.description) == (True, False, "transient")


def test_checkpoints_that_failed_are_spans_and_those_that_were_not_needed_are_none(
    recorded: InMemorySpanExporter,
) -> None:
    handlers = Notices(PipelineLog("7", 2), Metrics()).handlers
    for kind in (AbortKind.EXPIRED, AbortKind.SUBSUMED):
        handlers[commands.CheckpointAborted](commands.CheckpointAborted(checkpoint_id=5, kind=kind, reason="slow"))
    (span,) = recorded.get_finished_spans()
    assert (span.name, span.status.description) == ("checkpoint", "slow")
    assert dict(span.attributes or {}) == {"seatunnel.job": "7", "seatunnel.pipeline": 2, "seatunnel.checkpoint": 5}


def test_without_the_library_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "_tracer", None)
    record_span("unit", 1, {})
    send_spans({spans.ENDPOINT: "http://127.0.0.1:1"})


def test_spans_are_sent_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    posted = threading.Event()

    class Taker(StandIn):
        def do_POST(self) -> None:
            if self.path == "/v1/traces" and b"seatunnel.job" in self.body():
                posted.set()
            self.reply(200)

    set_provider: list[TracerProvider] = []
    monkeypatch.setattr(trace, "set_tracer_provider", set_provider.append)
    send_spans({})
    assert not set_provider
    with stand_in(Taker) as address:
        monkeypatch.setenv(spans.ENDPOINT, f"http://{address}")
        send_spans({spans.ENDPOINT: "as in the environment"})
        (provider,) = set_provider
        monkeypatch.setattr(spans, "_tracer", provider.get_tracer("seatunnel"))
        record_span("unit", 5, {"job": "7"})
        provider.shutdown()
    assert posted.is_set()
