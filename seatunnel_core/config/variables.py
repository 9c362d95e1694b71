"""Variables in a job file: ``${name}`` and ``${name:default}``, set by ``-i``, the environment and files."""

import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from seatunnel_core.config.document import Block, Entry, Items, Position, Scalar, Value
from seatunnel_core.config.limits import PIECE
from seatunnel_core.config.problem import Problems, nearest
from seatunnel_core.errors import UsageError
from seatunnel_storage_api.secret import HIDDEN, Resolved, begins_reference, holds_secret

RESERVED = frozenset(
    {
        *("database_name", "schema_name", "table_name", "schema_full_name", "table_full_name"),
        *("primary_key", "unique_key", "field_names"),
    }
)
"""Placeholders that sinks replace for each table; they are never variables of the job file."""

_FILLED_BY_SINKS = re.compile(r"[kv]([0-9]+|n)|now|uuid|transactionId|comment")
"""Placeholders in file names, partition folders and templates."""

_OF_REQUESTS = frozenset({"page", "model", "input", "prompt"})
"""Placeholders in requests to services, unless a variable has that name. In SeaTunnel jobs, they appear in quotes."""

SINKS = "seatunnel.sink"
"""Entry-point group of sinks."""

_NAMES_OF_PAGES = re.compile(r"""\b(?:page_field|cursor_field)["']?\s*[:=]\s*["']?([\w.-]+)""")
_OF_PLACES = re.compile(r"(^|[._-])(url|uri|endpoint|host|header|address|servers?|jaas)", re.IGNORECASE)
"""Keys for addresses and headers, where an unresolved ``${NAME}`` is always an error."""

_HOLDING_SECRETS = re.compile(r"^headers?$|webhook|cookie", re.IGNORECASE)
"""Keys with secret values whose names do not suggest this."""

_SALT = re.compile(r"(\bwith\.salt\.).*", re.DOTALL | re.IGNORECASE)
_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*:(//|\w+:)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\$\{([^:{}$\n]+)(?::([^{}\n]*))?\}")


@frozen
class Variables:
    """Values of variables, in order of precedence: from ``-i``, from the environment, and from ``elsewhere``."""

    given: Mapping[str, str] = field(factory=dict, repr=False)
    environment: Mapping[str, str] = field(factory=lambda: dict(os.environ), repr=False)
    elsewhere: Callable[[str], str | None] = field(default=lambda _: None, repr=False, kw_only=True)
    """Function that returns the value of a variable from the file next to the job file, or from the user's keyring."""

    by_argument: bool = field(default=True, kw_only=True)
    """True if ``-i`` can set the variables, as in job files but not in the engine's file."""

    of_node: bool = field(default=False, kw_only=True)
    """True if a cluster node resolves the variables. In this case, ``-i`` must not contain secrets."""

    kept: bool = field(default=False, kw_only=True)
    """True to leave variables unchanged, because the file is only printed."""

    loads_sinks: bool = field(default=True, kw_only=True)
    """True to load sinks in order to find their options with column names. If False, placeholders without a value are
    kept in all options of sinks; use this only for jobs that have been parsed before."""

    placeholders: frozenset[str] = field(default=_OF_REQUESTS, kw_only=True)
    """Placeholders that are kept if they have no value, because connectors replace them."""

    def of_file(self, text: str) -> "Variables":
        """Return these variables with the placeholders that a file declares, for example for pages and cursors."""
        return evolve(self, placeholders=self.placeholders | set(_NAMES_OF_PAGES.findall(text)))

    @classmethod
    def parse(cls, definitions: Sequence[str], environment: Mapping[str, str] | None = None) -> "Variables":
        """Parse ``-i`` arguments; raise ``UsageError`` if one is not ``name=value``."""
        given: dict[str, str] = {}
        for definition in definitions:
            name, equals, value = definition.partition("=")
            if not equals or not name.strip():
                raise UsageError(f"-i {definition!r} is not a variable: use -i name=value")
            given[name.strip()] = value
        return cls(given) if environment is None else cls(given, environment)

    def value(self, name: str) -> str | None:
        """Return the value of a variable, or ``None``."""
        found = self.given.get(name)
        return self.around(name) if found is None else found

    def around(self, name: str) -> str | None:
        """Return the value of a variable from the environment or from ``elsewhere``."""
        found = self.environment.get(name)
        return self.elsewhere(name) if found is None else found

    def missing(self, name: str, keys: Sequence[str] = ()) -> tuple[str, str]:
        """Return the message and the suggestion for a variable without a value; ``keys`` is the path of the value."""
        close = nearest(name, self.given)
        hint = f"Did you mean ${{{close}}}? " if close else ""
        by_argument = self.by_argument and not (self.of_node and is_secret_place(keys))
        argument = f"Pass -i {name}=VALUE, set" if by_argument else "Set"
        where = "the environment of the nodes" if self.of_node else "the environment"
        remedy = f"{hint}{argument} {name} in {where}, or use ${{{name}:default}}"
        return f"the variable ${{{name}}} is not set", remedy


def stays(name: str) -> bool:
    """Return True if a sink replaces ``${name}``."""
    return name in RESERVED or _FILLED_BY_SINKS.fullmatch(name) is not None


def is_place(key: str) -> bool:
    """Return True if the value of a key is an address or a list of addresses."""
    return _OF_PLACES.search(key) is not None


def is_secret_place(keys: Sequence[str]) -> bool:
    """Return True if the value at this path is secret, or must be displayed and stored like a secret."""
    return any(holds_secret(key) or _HOLDING_SECRETS.search(key) for key in keys)


def without_salt(key: str) -> str:
    """Return the key without the salt that a Debezium property contains in its name."""
    return _SALT.sub(rf"\1{HIDDEN}", key)


def has_variable(text: str) -> bool:
    """Return True if a string contains a variable that must be replaced before the job starts."""
    return any(not stays(match[1].strip()) for match in _PLACEHOLDER.finditer(text))


def filled(value: Value, variables: Variables, problems: Problems, keys: Sequence[str] = ()) -> Value:
    """Return the tree of a YAML file with the variables in strings replaced; ``keys`` is the path of the tree."""
    if isinstance(value, Block):
        entries = (
            Entry(each.key, filled(each.value, variables, problems, (*keys, each.key)), each.position)
            for each in value.entries
        )
        return Block(tuple(entries), value.position)
    if isinstance(value, Items):
        return Items(tuple(filled(part, variables, problems, keys) for part in value.values), value.position)
    return filled_scalar(value, variables, problems, keys)


def filled_scalar(scalar: Scalar, variables: Variables, problems: Problems, keys: Sequence[str] = ()) -> Scalar:
    """Return a value with its variables replaced; ``keys`` is its path, outermost key first.

    The values of variables are not resolved again, because a password may contain ``${`` or begin with ``secret://``.
    An unknown variable is an error if it is the whole value, or if the value is a secret, an address or a header. Other
    values keep ``${…}`` with a warning, because the system that reads them may use it.
    """
    if isinstance(scalar.value, str) and "${" in scalar.value:
        text = _text_filled(scalar.value, scalar.position, variables, problems, keys)
        return scalar if text is scalar.value else Scalar(text, text, scalar.position)
    return scalar


def _goes_to_a_service(text: str, keys: Sequence[str]) -> bool:
    """Return True if a value is a secret, an address or part of a header."""
    return _ADDRESS.match(text) is not None or any(holds_secret(key) or is_place(key) for key in keys)


def _may_be_columns(keys: Sequence[str], *, loads_sinks: bool) -> bool:
    """Return True if placeholders in the value at this path may refer to columns.

    The path does not contain the names of plugins in a list of sinks, so the options of all sinks are considered.
    """
    if len(keys) not in (2, 3) or keys[0].lower() != "sink":
        return False
    if not loads_sinks:
        return True
    points = chain(*_sinks().values()) if len(keys) == 2 else _sinks().get(keys[-2].lower(), ())
    return any(keys[-1].lower() in _options_with_columns(point) for point in points)


@cache
def _sinks() -> Mapping[str, Sequence[EntryPoint]]:
    """Return the installed sinks by name in lower case. Cached, because it reads the metadata of all packages."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=SINKS):
        found.setdefault(point.name.lower(), []).append(point)
    return found


def _options_with_columns(point: EntryPoint) -> Collection[str]:
    """Return the options with column names; empty if the sink cannot be loaded, which is reported when it is used."""
    try:
        return _declared_with_columns(point)
    except Exception:
        return ()


@cache  # an exception is not cached
def _declared_with_columns(point: EntryPoint) -> Collection[str]:
    return frozenset(option.key.lower() for option in point.load().declared if option.names_columns)


def _text_filled(text: str, position: Position, variables: Variables, problems: Problems, keys: Sequence[str]) -> str:
    filled = False

    def replacement(match: re.Match[str]) -> str:
        nonlocal filled
        name, default = match[1].strip(), match[2]
        if variables.kept or stays(name):
            return match[0]
        known = variables.value(name)
        if known is not None:
            filled = True
            problems.budget.substituted(1 + len(known) // PIECE, lambda: position)
            return known
        if default is not None:
            return default.strip().strip("\"'")
        if name in variables.placeholders or _may_be_columns(keys, loads_sinks=variables.loads_sinks):
            return match[0]
        message, suggestion = variables.missing(name, keys)
        if match[0] == text:
            problems.error(message, position, suggestion)
        elif _goes_to_a_service(text, keys):
            problems.error(f"{'.'.join(keys)}: {message}", position, suggestion)
        else:
            problems.warn(f"{message}, so the placeholder remains in the value", position, suggestion)
        return match[0]

    found = _PLACEHOLDER.sub(replacement, text)
    if found == text and not filled:
        return text
    return Resolved(found) if filled and not begins_reference(text) else found


# -- values that are kept elsewhere ----------------------------------------------------------------------------------

ENVIRONMENT = ".env"
SECRETS = "secrets.toml"
SERVICE = "seatunnel"
"""Service name under which keyrings store variables of this engine."""

_OTHERS = stat.S_IRGRP | stat.S_IROTH


@define(eq=False)
class KeptValues:
    """Values stored next to the job file or in a keyring.

    After ``-i`` and the environment, these are searched in order: ``.env`` and ``secrets.toml`` in the folder, and the
    operating system's keyring, where each variable is a password of the service ``seatunnel``. They are read only if
    a variable needs them.
    """

    folder: Path
    problems: Problems = field(repr=False)
    """Collects errors in the files, and a warning if other users can read a file that is used."""

    _read: dict[str, Mapping[str, str]] = field(factory=dict, init=False, repr=False)

    def value(self, name: str) -> str | None:
        """Return the stored value of a variable, or ``None``."""
        for file in (ENVIRONMENT, SECRETS):
            found = self._values(file).get(name)
            if found is not None:
                self._warn_of_readers(file)
                return found
        return _from_keyring(name)

    def _values(self, file: str) -> Mapping[str, str]:
        if file not in self._read:
            path = self.folder / file
            try:
                read = _environment if file == ENVIRONMENT else _secrets
                self._read[file] = read(path) if path.is_file() else {}
            except (OSError, ValueError) as error:
                wrong = "it is not TOML" if file == SECRETS else "it is not UTF-8 text"
                said = error.strerror if isinstance(error, OSError) else wrong
                self.problems.error(f"{path} cannot be read: {said}", Position(str(path)))
                self._read[file] = {}
        return self._read[file]

    def _warn_of_readers(self, file: str) -> None:
        path = self.folder / file
        if path.stat().st_mode & _OTHERS:
            self.problems.warn_once(
                f"other users of this machine can read {path}", Position(str(path)), f"Run chmod 600 {path}"
            )


def _environment(path: Path) -> dict[str, str]:
    import dotenv

    found = dotenv.dotenv_values(path, interpolate=False, encoding="utf-8")
    return {name: value for name, value in found.items() if value is not None}


def _secrets(path: Path) -> dict[str, str]:
    return dict(_flat(tomllib.loads(path.read_text(encoding="utf-8")), ""))


def _flat(block: Mapping[str, Any], prefix: str) -> list[tuple[str, str]]:
    """Return the strings in a TOML file by dotted name: ``password`` in ``[db]`` is ``db.password``."""
    found: list[tuple[str, str]] = []
    for name, value in block.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{name}.")
        elif isinstance(value, bool):
            found.append((prefix + name, str(value).lower()))
        elif isinstance(value, str | int | float):
            found.append((prefix + name, str(value)))
    return found


def _from_keyring(name: str) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(SERVICE, name)
    except KeyringError:  # this machine has no keyring, or it is locked
        return None
