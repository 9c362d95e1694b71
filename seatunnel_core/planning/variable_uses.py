"""Uses of variables in a job, and detection of secret variables, which are neither sent nor stored with a job."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from attrs import evolve, frozen

from seatunnel_core.config.document import Block, Items, Position, Scalar, Value
from seatunnel_core.config.file import parse, read_text
from seatunnel_core.config.job_file import RawBlock, read_sections
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables, is_place, is_secret_place
from seatunnel_core.errors import ConfigError, SeaTunnelError
from seatunnel_storage_api.secret import SHORTEST_MASKED

_MARK = "\ue000{}\ue001"
"""Placeholder for the value of a variable, with characters that do not occur in jobs."""

_MARKED = re.compile("\ue000([0-9]+)\ue001")
_LOGIN = re.compile(r"://[^/?#\s]*@")
_SECRETS = (
    r"[\w.-]*(?:pass|pwd|secret|token|credential|signature|(?<![a-z])sas(?![a-z])|(?:api|access|account|private)[._-]?key)"
    r"""[\w.-]*["']?\s*[=:]"""
)
_ASSIGNS = re.compile(_SECRETS, re.IGNORECASE)
"""Pattern for an assignment to a secret's name in a string: ``?password=``, ``"token": "``."""

_ASSIGNED = re.compile(_SECRETS + r"""\s*["']?[^&;,\n"'=:]*$""", re.IGNORECASE)
_STATEMENT = re.compile(r"\s*(select|with|insert|update|delete|merge|replace|call|where)\b", re.IGNORECASE)
"""Pattern for the start of an SQL statement, in which comparisons of columns look like assignments of secrets."""


@frozen
class Use:
    """A place in a job where a variable is substituted."""

    name: str
    """Name of the variable."""

    keys: str
    """Dotted path of the place: ``sink.Jdbc.password``."""

    position: Position
    is_secret: bool


class Plugins(Protocol):
    """Lookup of a job's plugins, like the planner's ``Registry``."""

    def source(self, identifier: str) -> type[Any]:
        """Return the class of a source."""

    def transform(self, identifier: str) -> type[Any]:
        """Return the class of a transform."""

    def sink(self, identifier: str) -> type[Any]:
        """Return the class of a sink."""


def uses(
    text: str,
    name: str,
    given: Mapping[str, str],
    environment: Mapping[str, str],
    *,
    plugins: Plugins | None = None,
    folder: Path | None = None,
) -> tuple[Use, ...]:
    """Return the places where a job uses variables that have a value; empty if the job file cannot be parsed.

    A use is secret if it is in the value of a secret key or in a header, in the login part of an address, or after the
    name of a secret in a string (``?password=${NAME}``). If the value of a variable contains a login or a password, all
    its uses are secret. Variables in ``given`` override those in the file, which override ``environment``.
    """
    values = [*given.items(), *((key, value) for key, value in environment.items() if key not in given)]
    marks = {key: _MARK.format(number) for number, (key, _) in enumerate(values)}
    variables = Variables({key: marks[key] for key in given}, {key: marks[key] for key in environment})
    try:
        tree = parse(text, name, variables, Problems(), folder=folder)
    except ConfigError:
        return ()  # parsing the job again reports the error
    declared = () if plugins is None else _in_declared_secrets(tree, name, plugins, values)
    return (*_uses(tree, (), values), *declared)


def secret_variables(path: Path, given: Mapping[str, str], plugins: Plugins) -> frozenset[str]:
    """Return the names of the given variables that a job file uses as secrets, or that contain a secret."""
    found = uses(read_text(path), str(path), given, {}, plugins=plugins, folder=path.parent)
    secrets = {given[use.name] for use in found if use.is_secret} - {""}
    parts = [secret for secret in secrets if len(secret) >= SHORTEST_MASKED]
    return frozenset(
        name for name, value in given.items() if value in secrets or any(secret in value for secret in parts)
    )


def _in_declared_secrets(tree: Block, name: str, plugins: Plugins, values: Sequence[tuple[str, str]]) -> Iterator[Use]:
    """Yield the uses in options that plugins declare as secret, except in addresses and blocks."""
    for raw in read_sections(tree, name, Problems())[1]:
        for entry in raw.block:
            if entry.key in _secret_options(raw, plugins):
                for use in _uses(entry.value, (raw.kind.value, raw.identifier, entry.key), values):
                    yield evolve(use, is_secret=True)


def _secret_options(raw: RawBlock, plugins: Plugins) -> frozenset[str]:
    try:
        declared = getattr(plugins, raw.kind.value)(raw.identifier).declared
    except SeaTunnelError:
        return frozenset()  # planning the job reports the error
    secret = (option for option in declared if option.secret and not option.type.nested and not is_place(option.key))
    return frozenset(name for option in secret for name in (option.key, *option.aliases))


def refuse_secrets(
    text: str, name: str, given: Mapping[str, str], problems: Problems, *, plugins: Plugins | None = None
) -> None:
    """Report secret variables in a submission, because a cluster would store them with the job in plain text."""
    for use in uses(text, name, given, {}, plugins=plugins) if given else ():
        if use.is_secret:
            problems.error(
                f"${{{use.name}}} is used in the secret {use.keys}, but a cluster stores submitted values as plain "
                "text; this value was not stored",
                use.position,
                f"Set {use.name} in the environment of the nodes instead, or use secret://STORE/NAME or file:///PATH "
                "in the job",
            )


def _uses(value: Value, keys: tuple[str, ...], values: Sequence[tuple[str, str]]) -> Iterator[Use]:
    if isinstance(value, Block):
        for entry in value:
            yield from _uses(entry.value, (*keys, entry.key), values)
    elif isinstance(value, Items):
        for each in value.values:
            yield from _uses(each, keys, values)
    elif isinstance(value, Scalar) and isinstance(value.value, str):
        for mark in _MARKED.finditer(value.value):
            name, worth = values[int(mark[1])]
            secret = is_secret_place(keys) or _in_secret(value.value, mark) or _has_secret(worth)
            yield Use(name, ".".join(key for key in keys if key), value.position, secret)


def _in_secret(text: str, mark: re.Match[str]) -> bool:
    """Return True if a position in a string is within a login, or within the value after the name of a secret."""
    if any(login.start() < mark.start() < login.end() for login in _LOGIN.finditer(text)):
        return True
    return _STATEMENT.match(text) is None and _ASSIGNED.search(text, 0, mark.start()) is not None


def _has_secret(value: str) -> bool:
    return _LOGIN.search(value) is not None or (_STATEMENT.match(value) is None and _ASSIGNS.search(value) is not None)
