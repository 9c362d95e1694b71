"""Check that a dlt resource is supported, before any of its rows is read."""

import inspect
from collections.abc import Iterator
from typing import Any

STATE = (
    "keeps state in dlt, such as dlt.sources.incremental or dlt.current.resource_state, which only dlt pipelines "
    "store: here it would be empty in each job. Remove it, and pass the last value as an argument, or use Http,  "
    "Jdbc or files with incremental"
)


def extract() -> Any:
    """Return dlt's ``extract`` module, imported only if a job uses dlt."""
    import dlt.extract

    return dlt.extract


def unfit(source: Any, *, made_once: bool) -> str:
    """Return the reason why the selected resource of a source is not supported; ``""`` if it is supported.

    The resources that feed it are also checked. ``made_once`` is True if every read uses the same object.
    """
    (chosen,) = source.selected_resources.values()
    if chosen.has_dynamic_table_name:
        return "chooses the table of each row (table_name is a function); use one resource for each table"
    if chosen._pipe.has_parent and not chosen._pipe.is_data_bound:
        return "is a transformer without a resource before it; bind it, as in orders | details"
    for resource in source.resources.extracted:
        wrong = _wrong(resource, made_once)
        if wrong:
            return wrong if resource is chosen else f"reads its data from {resource.name!r}, which {wrong}"
    return ""


def _wrong(resource: Any, made_once: bool) -> str:
    if _is_incremental(resource):
        return STATE
    pipe = resource._pipe
    begun = inspect.isgenerator(pipe.gen) and inspect.getgeneratorstate(pipe.gen) != inspect.GEN_CREATED
    if begun or (made_once and isinstance(pipe.gen, Iterator)):
        return "is created from a generator object, which can be read only once; pass the generator function to dlt"
    if not pipe.has_parent and resource.requires_args:
        return "needs arguments; write them in arguments { }"
    return ""


def _is_incremental(resource: Any) -> bool:
    """Return True if a resource declares ``dlt.sources.incremental``; one created later is detected by its state."""
    step = resource.incremental
    if step is None:
        return False
    if isinstance(step, extract().Incremental) or step.incremental is not None:
        return True
    parameters = inspect.signature(resource).parameters.values()
    return any(isinstance(parameter.default, extract().Incremental) for parameter in parameters)
