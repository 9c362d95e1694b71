"""Plan of a job as JSON values: each vertex with all its options, including defaults. Secrets are masked."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from seatunnel_core.config.option import Options
from seatunnel_core.config.variables import is_secret_place
from seatunnel_core.planning.guarantee import promise, weakest
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline, Plugin
from seatunnel_storage_api.secret import HIDDEN, masked, shown

LONGEST_VALUE = 2_000
MOST_VERTICES = 300
"""Maximum number of vertices in a plan; further ones are omitted."""


def plan_record(job: PlannedJob) -> dict[str, Any]:
    """Return the plan of a job."""
    left, secrets = MOST_VERTICES, frozenset(_secrets_of(job))
    pipelines = []
    for pipeline in job.pipelines:
        vertices = _vertices(pipeline, secrets)[:left]
        left -= len(vertices)
        if not vertices:
            break
        held = weakest(pipeline)
        pipelines.append(
            {
                "id": pipeline.id,
                "title": pipeline.title,
                "guarantee": held.guarantee.value,
                "because": held.reason,
                "vertices": vertices,
            }
        )
    return {
        "name": job.name,
        "mode": job.mode,
        "storage": job.storage.type,
        "warnings": [str(each) for each in job.warnings],
        "pipelines": pipelines,
    }


def _secrets_of(job: PlannedJob) -> Iterator[str]:
    """Yield the values of secret options, so that they can also be masked in other options."""
    for pipeline in job.pipelines:
        nodes = (each.options for each in _plugins(pipeline))
        for options in nodes:
            yield from (str(options[each]) for each in options.declared if each.secret and options[each] is not None)


def _plugins(pipeline: PlannedPipeline) -> list[Plugin]:
    return [
        *(each.source for each in pipeline.sources),
        *(each.transform for each in pipeline.transforms),
        *(each.sink for each in pipeline.sinks),
    ]


def _vertices(pipeline: PlannedPipeline, secrets: Collection[str]) -> list[dict[str, Any]]:
    sources = [
        _vertex("source", each.name, each.source, (), secrets, {"parallelism": each.parallelism})
        for each in pipeline.sources
    ]
    transforms = [
        _vertex("transform", each.name, each.transform, each.inputs, secrets, {}) for each in pipeline.transforms
    ]
    sinks = [
        _vertex(
            "sink", each.name, each.sink, each.inputs, secrets, {"guarantee": promise(pipeline, each).guarantee.value}
        )
        for each in pipeline.sinks
    ]
    return [*sources, *transforms, *sinks]


def _vertex(
    kind: str, name: str, plugin: Plugin, inputs: tuple[str, ...], secrets: Collection[str], more: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": kind,
        "name": name,
        "plugin": plugin.identifier,
        "inputs": list(inputs),
        **more,
        "options": shown_options(plugin.options, secrets),
    }


def shown_options(options: Options, secrets: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the options that have a value, each with a flag for whether it is set explicitly.

    Secret options and ``secrets`` are masked.
    """
    return [
        {
            "key": option.key,
            "value": masked(_value(option.key, options[option], secret=option.secret), secrets),
            "isSet": is_set,
        }
        for option in options.declared
        if (is_set := options.is_set(option)) or options[option] is not None
    ]


def _value(key: str, value: Any, *, secret: bool) -> str:
    if value is not None and (secret or is_secret_place((key,))):
        return HIDDEN
    text = value if isinstance(value, str) else json.dumps(_masked(value), default=_of_code, ensure_ascii=False)
    text = shown(key, text) if isinstance(value, str) else text
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): HIDDEN if is_secret_place((str(key),)) else _member(str(key), value[key]) for key in value}
    return [_masked(each) for each in value] if isinstance(value, list | tuple) else value


def _member(key: str, value: Any) -> Any:
    return shown(key, value) if isinstance(value, str) else _masked(value)


def _of_code(value: Any) -> str:
    """Return a placeholder for a value that is not JSON. Its ``repr`` is not used, as it might contain a secret."""
    return str(value) if type(value).__module__ in ("pathlib", "decimal", "datetime") else f"<{type(value).__name__}>"
