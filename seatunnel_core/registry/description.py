"""Descriptions of plugins for help and documentation, generated from their declarations and docstrings."""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import astuple, has

from seatunnel_core.config.option import BOOLEAN, DURATION_MS, FUNCTION, SIZE, STRING, Option
from seatunnel_core.connector_api.capabilities import SupportsRollback
from seatunnel_core.connector_api.sink import Guarantee, Sink
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.transform import DataFrameTransform

_SINKS = {
    Guarantee.EXACTLY_ONCE: "exactly-once: rows are staged, and published once with the checkpoint that contains them",
    Guarantee.IDEMPOTENT: "idempotent: writing a row again after a failure changes nothing",
    Guarantee.AT_LEAST_ONCE: "at-least-once: a row may appear again after a failure",
}


def summary(plugin: type) -> str:
    """Return the description of a plugin from the docstrings of its module and class, or ``""``."""
    module = inspect.getdoc(sys.modules[plugin.__module__]) or ""
    headed = re.match(r"The \w+ ``\w+``: (.*)", " ".join(module.split("\n\n")[0].split()))
    own = plugin.__dict__.get("__doc__") or ""
    said = [headed[1] if headed else "", " ".join(inspect.cleandoc(own).split("\n\n")[0].split())]
    return " ".join(part[:1].upper() + part[1:] for part in said if part).replace("``", "`")


def guarantees(plugin: type) -> tuple[str, ...]:
    """Return the lines that describe the delivery guarantees of a plugin."""
    if issubclass(plugin, Source):
        if any(option.key == "replayable" for option in plugin.declared):
            again = "replayable if the option replayable is set: reading again must return the same rows"
        elif plugin.replayable:
            again = "replayable: reading a split again returns the same rows, so every row can arrive exactly once"
        else:
            again = "not replayable: reading a split again may return different rows, so rows arrive at least once"
        again += f". {plugin.caveat}" if plugin.caveat else ""
        return (again, *(("ordered: rows are published in the order of the splits",) if plugin.ordered else ()))
    if issubclass(plugin, Sink):
        back = ("can roll back published output (--retract)",) if issubclass(plugin, SupportsRollback) else ()
        declared = any(option.key == "idempotent" for option in plugin.declared)
        said = ("idempotent if the option idempotent is set: writing a row again must have no effect",)
        return (_SINKS[plugin.guarantee], *(said if declared else ()), *back)
    if issubclass(plugin, DataFrameTransform):
        across = "otherwise once over all rows of its sources (batch jobs only); accepts inserted rows only"
        return (f"runs in Spark: once per work unit if its plan works row by row, {across}",)
    return ("runs in the Spark tasks that read the rows; results do not depend on how rows are divided into batches",)


def example(kind: str, plugin: type) -> str:
    """Return a block of a job file in HOCON: the plugin's ``example``, or a generated one with its required options."""
    made: Any = plugin
    body = made.example or "\n".join(_sample(option) for option in made.declared if option.required)
    inside = "\n".join(f"    {line}".rstrip() for line in inspect.cleandoc(body).splitlines())
    block = f"  {made.identifier} {{\n{inside}\n  }}" if inside else f"  {made.identifier} {{ }}"
    return f"{kind} {{\n{block}\n}}"


def names(option: Option[Any]) -> str:
    """Return the name of an option with its deprecated names."""
    return ", ".join((option.key, *(f"older: {alias}" for alias in option.aliases)))


def default(option: Option[Any]) -> str:
    """Return the default of an option as written in a job file, or ``""``."""
    if option.default is None:
        return ""
    if has(type(option.default)):  # a block with one value for all keys may be written as a single word
        words = set(astuple(option.default))
        return words.pop() if len(words) == 1 else str(option.default)
    shown = str(option.default).lower() if isinstance(option.default, bool) else str(option.default)
    return shown if shown.isprintable() and shown else repr(shown)


def type_of(option: Option[Any]) -> str:
    """Return the name of an option's type, with the unit."""
    return option.type.name + (f", {option.unit}" if option.unit else "")


def meaning(option: Option[Any]) -> str:
    """Return the documentation of an option, with its restrictions."""
    return (
        option.doc
        + (f" No effect: {option.no_effect}." if option.no_effect else "")
        + (" Secret." if option.secret else "")
    )


def described(options: Iterable[Option[Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the names, type (with default or requirement) and documentation of each option, required ones first."""
    for option in sorted(options, key=lambda each: not each.required):
        unless = f" unless {' or '.join(option.unless)} is set" if option.unless else ""
        need = f"required{unless}" if option.required else f"default {default(option)}" if default(option) else ""
        yield names(option), ", ".join(part for part in (type_of(option), need) if part), meaning(option)


def _sample(option: Option[Any]) -> str:
    kind = option.type
    if kind.name.startswith("one of "):
        value = kind.name.removeprefix("one of ").split(",")[0]
    elif kind is BOOLEAN or kind is FUNCTION or kind is STRING:
        value = {BOOLEAN: "true", FUNCTION: '"package.module:name"', STRING: '"…"'}[kind]
    elif kind is DURATION_MS or kind is SIZE:
        value = "10s" if kind is DURATION_MS else "128MB"
    elif kind.name.startswith("list of "):
        value = "[ … ]"
    elif kind.nested:
        value = "{ … }"
    else:
        value = "1"
    return f"{option.key} = {value}"
