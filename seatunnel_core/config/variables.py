"""Variables of a job file: ``${name}`` and ``${name:default}``, from ``-i name=value`` and the environment."""

import os
import re
from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.config.document import Block, Entry, Items, Position, Scalar, Value
from seatunnel_core.config.problem import Problems, nearest
from seatunnel_core.errors import UsageError

RESERVED = frozenset(
    {
        *("database_name", "schema_name", "table_name", "schema_full_name", "table_full_name"),
        *("primary_key", "unique_key", "field_names"),
    }
)
"""Placeholders that sinks fill in for each table; they are never variables of the job file."""

_FILLED_BY_SINKS = re.compile(r"[kv]([0-9]+|n)|now|uuid|transactionId|comment")
"""Placeholders of file names, partition folders and templates."""

_OF_REQUESTS = frozenset({"page", "model", "input", "prompt"})
"""Placeholders of requests to services, unless they are given a value: SeaTunnel's jobs write them in quotes."""

_NAMES_OF_PAGES = re.compile(r"""\b(?:page_field|cursor_field)["']?\s*[:=]\s*["']?([\w.-]+)""")
_PLACEHOLDER = re.compile(r"\$\{([^:{}$\n]+)(?::([^{}\n]*))?\}")


@frozen
class Variables:
    """The sources of the values of variables; ``-i`` wins over the environment."""

    given: Mapping[str, str] = field(factory=dict, repr=False)
    environment: Mapping[str, str] = field(factory=lambda: dict(os.environ), repr=False)
    by_argument: bool = field(default=True, kw_only=True)
    """Whether ``-i`` may give one: in a job file, not in the engine's."""

    kept: bool = field(default=False, kw_only=True)
    """Whether they stay as they are written, for a file that is printed again."""

    placeholders: frozenset[str] = field(default=_OF_REQUESTS, kw_only=True)
    """What stays as it is written within a text when it has no value: connectors fill it in."""

    def of_file(self, text: str) -> "Variables":
        """Return these variables with the placeholders that a file itself names: those of its pages and cursors."""
        return evolve(self, placeholders=self.placeholders | set(_NAMES_OF_PAGES.findall(text)))

    @classmethod
    def parse(cls, definitions: Sequence[str], environment: Mapping[str, str] | None = None) -> "Variables":
        """Read ``-i`` arguments.

        Raises:
            UsageError: one of them is not ``name=value``.
        """
        given: dict[str, str] = {}
        for definition in definitions:
            name, equals, value = definition.partition("=")
            if not equals or not name.strip():
                raise UsageError(f"-i {definition!r} is not a variable: write -i name=value")
            given[name.strip()] = value
        return cls(given) if environment is None else cls(given, environment)

    def value(self, name: str) -> str | None:
        """Return the value of a variable; ``None`` when it has none."""
        return self.given.get(name, self.environment.get(name))

    def missing(self, name: str) -> tuple[str, str]:
        """Return the message and the suggestion for a variable without a value."""
        close = nearest(name, self.given)
        hint = f"Did you mean ${{{close}}}? " if close else ""
        argument = f"Pass -i {name}=VALUE, set" if self.by_argument else "Set"
        remedy = f"{hint}{argument} {name} in the environment, or write ${{{name}:default}}"
        return f"the variable ${{{name}}} is not set", remedy


def stays(name: str) -> bool:
    """Return whether ``${name}`` is left for a sink to fill in."""
    return name in RESERVED or _FILLED_BY_SINKS.fullmatch(name) is not None


def has_variable(text: str) -> bool:
    """Return whether a text has a variable that must be filled in before the job starts."""
    return any(not stays(match[1].strip()) for match in _PLACEHOLDER.finditer(text))


def filled(value: Value, variables: Variables, problems: Problems) -> Value:
    """Return the tree of a YAML file with the variables inside its texts replaced."""
    if isinstance(value, Block):
        return Block(
            tuple(Entry(e.key, filled(e.value, variables, problems), e.position) for e in value.entries), value.position
        )
    if isinstance(value, Items):
        return Items(tuple(filled(part, variables, problems) for part in value.values), value.position)
    return filled_scalar(value, variables, problems)


def filled_scalar(scalar: Scalar, variables: Variables, problems: Problems) -> Scalar:
    """Return a value of a file with the variables inside its text replaced, each only once.

    The value of a variable is not searched again: a password may contain ``${``. A text that consists of an unknown
    variable is an error; one that merely contains ``${…}`` stays, with a warning, because it may mean something to the
    system that reads it.
    """
    if isinstance(scalar.value, str) and "${" in scalar.value:
        text = _text_filled(scalar.value, scalar.position, variables, problems)
        return scalar if text == scalar.value else Scalar(text, text, scalar.position)
    return scalar


def _text_filled(text: str, position: Position, variables: Variables, problems: Problems) -> str:
    def replacement(match: re.Match[str]) -> str:
        name, default = match[1].strip(), match[2]
        if variables.kept or stays(name):
            return match[0]
        known = variables.value(name)
        if known is None and default is not None:
            known = default.strip().strip("\"'")
        if known is not None:
            return known
        if name in variables.placeholders:
            return match[0]
        message, suggestion = variables.missing(name)
        if match[0] == text:
            problems.error(message, position, suggestion)
        else:
            problems.warn(f"{message}, so the text keeps it", position, suggestion)
        return match[0]

    return _PLACEHOLDER.sub(replacement, text)
