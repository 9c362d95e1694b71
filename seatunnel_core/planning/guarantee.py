"""Delivery guarantees of a pipeline, compared with those that its job requires."""

from attrs import frozen

from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.sink import Guarantee
from seatunnel_core.job.node import EXACTLY_ONCE
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink

_WEAKEST = (Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT, Guarantee.EXACTLY_ONCE)


@frozen
class Promise:
    """Delivery guarantee for one sink, and the reason why it is not stronger."""

    guarantee: Guarantee
    reason: str = ""


def promise(pipeline: PlannedPipeline, sink: PlannedSink) -> Promise:
    """Return the guarantee for one sink: the weakest guarantee among the sink and its upstream sources."""
    for source in pipeline.sources:
        if not source.source.replayable and source.name in pipeline.roots(*sink.inputs):
            kind = source.source.identifier
            return Promise(
                Guarantee.AT_LEAST_ONCE, f"the source {source.name!r} ({kind}) cannot read the same rows again"
            )
    own = sink.sink.guarantee
    if own is Guarantee.EXACTLY_ONCE:
        return Promise(own)
    usual = "cannot roll back rows" if own is Guarantee.AT_LEAST_ONCE else "may write a row more than once"
    return Promise(own, f"the sink {sink.name!r} ({sink.sink.identifier}) {sink.sink.weakness or usual}")


def weakest(pipeline: PlannedPipeline) -> Promise:
    """Return the guarantee of the pipeline, which is the weakest guarantee of its sinks."""
    return min((promise(pipeline, sink) for sink in pipeline.sinks), key=lambda each: _WEAKEST.index(each.guarantee))


def refuse_more_than_promised(pipeline: PlannedPipeline, problems: Problems) -> None:
    """Report sinks that require exactly-once if the pipeline cannot guarantee it."""
    for sink in pipeline.sinks:
        if not asks_exactly_once(sink):
            continue
        held = promise(pipeline, sink)
        if held.guarantee is not Guarantee.EXACTLY_ONCE:
            problems.error(
                f"the sink {sink.name!r} requires exactly-once, but its pipeline provides only "
                f"{held.guarantee.value}: {held.reason}",
                suggestion=f"Use other connectors, or set {EXACTLY_ONCE.key} = false",
            )


def asks_exactly_once(sink: PlannedSink) -> bool:
    """Return True if a common option or an option of the sink requires exactly-once."""
    options = sink.sink.options
    return any(str(options[key]).lower() == "true" for key in (EXACTLY_ONCE.key, "is_exactly_once") if key in options)
