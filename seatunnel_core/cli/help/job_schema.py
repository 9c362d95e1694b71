"""``seatunnel help --json-schema``: prints a JSON Schema of job files, generated from all installed plugins.

Editors use it to complete and check JSON and YAML. It checks keys as strictly as ``--check --strict``; but only
``--check`` reports unresolved names, wrong column types, and conflicts between options.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.config.env import ENV
from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.json_shape import any_case
from seatunnel_core.config.option import Option
from seatunnel_core.job.node import COMMON
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import default, meaning, summary
from seatunnel_core.transforms.tables import with_tables

_FREE_IN_ENV = ("spark", "flink", "execution")
"""Blocks in ``env`` that contain settings of other programs."""


def print_job_schema() -> None:
    """Print the JSON Schema of job files."""
    print(json.dumps(job_schema(), indent=1, ensure_ascii=False))


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of job files in draft 7, which most editors support."""
    found: dict[Kind, dict[str, Any]] = {kind: {} for kind in Kind}
    for plugin in lookup.plugins():
        if plugin.declared is not None:
            found[Kind(plugin.kind)][plugin.identifier] = plugin.declared
    definitions = {
        f"{kind.value}.{name}": _plugin(kind, plugin)
        for kind, plugins in found.items()
        for name, plugin in plugins.items()
    }
    sections = {kind.value: _section(kind, tuple(plugins)) for kind, plugins in found.items()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Job",
        "description": "A job: sources, transforms and sinks.",
        "type": "object",
        "required": ["source", "sink"],
        "properties": {"env": _env(), **sections},
        "additionalProperties": {"not": {"type": "object"}},
        "definitions": definitions,
    }


def _env() -> dict[str, Any]:
    block = _block(ENV)
    block["patternProperties"] = {f"^({'|'.join(_FREE_IN_ENV)})(\\.|$)": {}}
    return {"anyOf": [{"type": "null"}, block], "description": "Options of the whole job."}


def _plugin(kind: Kind, plugin: Any) -> dict[str, Any]:
    declared = with_tables(plugin.declared) if kind is Kind.TRANSFORM else plugin.declared
    own = {option.key for option in declared}
    common = [option for option in COMMON[kind] if option.key not in own]
    block = _block((*declared, *common))
    block["properties"]["plugin_name"] = {"type": "string"}
    return {"description": summary(plugin), **block}


def _block(options: Sequence[Option[Any]]) -> dict[str, Any]:
    """Return the schema of a block with these options.

    A key with dots may also be written as nested blocks; their content is not checked.
    """
    named = {name: option for option in options for name in (option.key, *option.aliases)}
    blocks = {name.partition(".")[0]: {"type": "object"} for name in named if "." in name}
    properties = blocks | {name: _option(name, option) for name, option in named.items()}
    for name in blocks.keys() & named.keys():  # a value, or a block with the value under the empty name
        properties[name]["anyOf"] = [*properties[name]["anyOf"], blocks[name]]
    needed = [_one_of(option) for option in options if option.required]
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"allOf": needed} if needed else {}),
    }


def _option(name: str, option: Option[Any]) -> dict[str, Any]:
    said = meaning(option) if name == option.key else f"An older name of {option.key}. {meaning(option)}"
    shown = default(option)
    unit = f" In {option.unit}." if option.unit else ""
    described: dict[str, Any] = {"description": f"{said}{unit}" + (f" Default: {shown}." if shown else "")}
    shape = dict(_shape(option))
    choices = shape.get("anyOf", [shape])
    return {**described, "anyOf": [*choices, {"type": "null"}]} if shape else described


def _shape(option: Option[Any]) -> Mapping[str, Any]:
    if option.type.entries:
        block = _block(option.type.entries)
        return {"anyOf": [{"type": "array", "items": block}, block]}
    return option.type.shape


def _one_of(option: Option[Any]) -> dict[str, Any]:
    """Return a schema that requires an option by any of its names, nested or flat, or an option that replaces it."""
    names = (option.key, *option.aliases, *option.unless)
    first = dict.fromkeys(part for name in names for part in (name, name.partition(".")[0]))
    return {"anyOf": [{"required": [name]} for name in first]}


def _section(kind: Kind, names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a section: a block ``Name: {…}``, or a list of ``plugin_name: Name`` or ``Name: {…}``."""
    blocks = {
        "type": "object",
        "properties": {name: _named(kind, name) for name in names},
        "patternProperties": {any_case(name): _named(kind, name) for name in names},
        "additionalProperties": False,
    }
    listed = {
        "type": "object",
        "required": ["plugin_name"],
        "properties": {
            "plugin_name": {"anyOf": [{"enum": list(names)}, *({"pattern": any_case(name)} for name in names)]}
        },
        "allOf": [
            {
                "if": {"properties": {"plugin_name": {"pattern": any_case(name)}}},
                "then": {"$ref": f"#/definitions/{kind.value}.{name}"},
            }
            for name in names
        ],
    }
    entry = {"if": {"required": ["plugin_name"]}, "then": listed, "else": {**blocks, "maxProperties": 1}}
    return {
        "description": f"The {kind.value}s of the job, in order.",
        "if": {"type": "array"},
        "then": {"items": {"type": "object", **entry}},
        "else": {"anyOf": [{"type": "null"}, blocks]},
    }


def _named(kind: Kind, name: str) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, {"$ref": f"#/definitions/{kind.value}.{name}"}]}
