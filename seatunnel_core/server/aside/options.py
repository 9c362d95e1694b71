"""Options of a plugin, in the format of SeaTunnel's REST API."""

from typing import Any

from seatunnel_core import stored
from seatunnel_core.config.option import Option
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import default, type_of

_FINDS = {"source": lookup.source, "transform": lookup.transform, "sink": lookup.sink}


def options(request: Any) -> dict[str, Any]:
    """Return the options of a plugin."""
    kind = stored.text(request, "type")
    plugin = _FINDS[kind](stored.text(request, "plugin"))
    declared: tuple[Option[Any], ...] = plugin.declared
    alternatives = [_rule(option) for option in declared if option.required]
    return {
        "engineType": "seatunnel",
        "pluginType": kind,
        "pluginName": plugin.identifier,
        "optionRule": {
            "optionalOptions": [_option(option) for option in declared if not option.required],
            "requiredOptions": alternatives,
            "conditionRules": [],
            "valueConstraints": [],
        },
    }


def _rule(option: Option[Any]) -> dict[str, Any]:
    """Return the rule for a required option. The rule is exclusive if other options can be set instead."""
    kind = "EXCLUSIVE" if option.unless else "ABSOLUTELY_REQUIRED"
    return {
        "ruleType": kind,
        "options": [_option(option)],
        **({"unless": list(option.unless)} if option.unless else {}),
    }


def _option(option: Option[Any]) -> dict[str, Any]:
    shown = default(option)
    return {
        "key": option.key,
        "type": type_of(option),
        "defaultValue": shown or None,
        "description": option.doc,
        "fallbackKeys": list(option.aliases),
        "optionValues": None,
    }
