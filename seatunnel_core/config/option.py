"""Typed options. Parsing, ``--check``, help and documentation use the same declarations."""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from attrs import evolve, field, frozen

from seatunnel_core.config import json_shape
from seatunnel_core.config.document import dotted
from seatunnel_core.config.json_shape import Shape
from seatunnel_storage_api.secret import Resolved

T = TypeVar("T")

Keys = Mapping[str, "Keys | None"]
"""Keys of a block, with the keys of nested blocks; ``None`` allows any value."""


@frozen(kw_only=True)
class OptionType(Generic[T]):
    """Conversion of a configuration value to a Python value."""

    name: str
    """Name in messages and documentation, such as ``"integer"`` or ``"one of FAIL, SKIP"``."""

    parse: Callable[[Any], T]
    """Function that parses a value; raises ``ValueError`` with a sentence that describes the expected value."""

    textual: bool = False
    """True if ``parse`` receives scalars as written: ``007`` remains ``"007"``, and ``1.10`` remains ``"1.10"``."""

    nested: bool = False
    """True if the value is a block with keys that are not options of the surrounding block."""

    entries: "tuple[Option[Any], ...]" = ()
    """Options of each block if the value is a list of blocks, which is converted to a tuple of ``Options``."""

    keys: "Keys | None" = field(default=None, repr=False, eq=False)
    """Allowed keys of the block, or of each block in a list; others are reported and ignored. ``None`` allows all."""

    choices: tuple[T, ...] = ()
    """All allowed values, if there are few."""

    closed: bool = False
    """True if an unknown key is an error, because ignoring it would change a result."""

    shape: Shape = field(factory=dict, repr=False, eq=False)
    """JSON Schema of the values in a file, for editors; empty if any value is valid."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _parsed_elsewhere, (self.name,)


def _parsed_elsewhere(name: str) -> OptionType[Any]:
    """Return a placeholder for the type of an option in a Spark task, which receives parsed values."""

    def refuse(_: Any) -> Any:
        raise ValueError(f"a {name} is parsed during planning, not in the tasks")

    return OptionType(name=name, parse=refuse)


@frozen
class Option(Generic[T]):
    """An option of the engine, a job's ``env``, a connector or a transform."""

    key: str
    """Name in configuration files; may contain dots."""

    type: OptionType[T]

    default: T | None = field(default=None, kw_only=True)
    required: bool = field(default=False, kw_only=True)
    unless: tuple[str, ...] = field(default=(), kw_only=True)
    """Options of the same block that replace this one: if one of them is set, this one is not required."""

    doc: str = field(kw_only=True)
    """Description in one or two sentences, shown by ``--check``, help and the generated documentation."""

    unit: str = field(default="", kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    """Deprecated names that are still accepted, each with a note."""

    no_effect: str = field(default="", kw_only=True)
    """Reason why the option has no effect, which is logged as a warning if it is set; empty if it has an effect."""

    secret: bool = field(default=False, kw_only=True)
    """True if the value must never be printed, logged or shown in a ``repr``."""

    names_columns: bool = field(default=False, kw_only=True)
    """True if the sink replaces ``${…}`` in the value with column values, unless a variable with that name exists."""

    decides_columns: bool = field(default=False, kw_only=True)
    """True if the value determines tables or columns of the source, so a restored job cannot change it."""


class Options(Mapping[str, Any]):
    """The validated options of one block: ``options[PATH]`` by declaration, or ``options["path"]`` by name.

    Immutable; ``repr`` hides secrets. A declared option without a value returns its default. The pickle sent to tasks
    contains only values and defaults, not the declarations.
    """

    def __init__(self, values: Mapping[str, Any], declared: tuple[Option[Any], ...]) -> None:
        self._values = dict(values)
        self._declared = declared
        self._defaults = {option.key: option.default for option in declared}
        self._secrets = frozenset(option.key for option in declared if option.secret)

    def __getitem__(self, key: "str | Option[Any]") -> Any:
        name = key.key if isinstance(key, Option) else key
        return self._values[name] if name in self._values else self._defaults[name]

    def is_set(self, key: "str | Option[Any]") -> bool:
        """Return True if the configuration sets the option explicitly."""
        return (key.key if isinstance(key, Option) else key) in self._values

    @property
    def declared(self) -> tuple[Option[Any], ...]:
        """Return the declared options of the block, in order; empty for an unpickled copy in a task."""
        return self._declared

    def __iter__(self) -> Iterator[str]:
        return iter(self._defaults)

    def __len__(self) -> int:
        return len(self._defaults)

    def __repr__(self) -> str:
        given = filter(self.is_set, self._defaults)
        shown = (f"{key}={'***' if key in self._secrets else self[key]!r}" for key in given)
        return f"Options({', '.join(shown)})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_declared": ()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float, PurePath)):
        return str(value)
    raise ValueError(f"expected text, found {_found(value)}")


def _found(value: Any) -> str:
    """Describe an invalid value without printing long or secret content."""
    if isinstance(value, Mapping):
        return "a block"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return f"a {type(value).__name__}"


_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_LONG = 2**63


def _whole(value: Any, low: int, high: int, what: str) -> int:
    counted = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1
    if not (counted or (isinstance(value, str) and _WHOLE.fullmatch(value.strip()))):
        raise ValueError(f"expected {what}, found {_found(value)}")
    if not low <= (number := int(value)) < high:
        bounds = f"of at least {low}" if high == _LONG and low > -_LONG else f"from {low} to {high - 1}"
        raise ValueError(f"expected {what} {bounds}, found {number}")
    return number


_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _boolean(value: Any) -> bool:
    found = _FLAGS.get(value.strip().lower()) if isinstance(value, str) else value
    if isinstance(found, bool):
        return found
    raise ValueError(f"expected true or false, found {_found(value)}")


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value.strip()):
        return float(value)
    raise ValueError(f"expected a number, found {_found(value)}")


_MILLISECONDS = (
    {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
    | {
        word + plural: size
        for word, size in (("milli", 1), ("millisecond", 1), ("second", 1_000), ("minute", 60_000), ("hour", 3_600_000))
        for plural in ("", "s")
    }
    | {"day": 86_400_000, "days": 86_400_000}
)

_POWERS = "kmgtpe"
_BYTES = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    letter + unit: base ** (power + 1)
    for power, letter in enumerate(_POWERS)
    for unit, base in (("", 1024), ("i", 1024), ("ib", 1024), ("b", 1000))
}


def _measured(value: Any, units: Mapping[str, int], what: str, *, low: int) -> int:
    """Parse an integer, or a number with a unit, into the smallest unit."""
    if isinstance(value, str):
        match = re.fullmatch(r"([+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?) *([A-Za-z]*)", value.strip())
        scale = units.get(match[2].lower()) if match else None
        if match is None or scale is None:
            raise ValueError(f"expected {what}, found {_found(value)}")
        whole, _, fraction = match[1].partition(".")
        number = int(whole) * scale + (int(fraction) * scale // 10 ** len(fraction) if fraction else 0)
        return _whole(number, low, _LONG, what)
    return _whole(value, low, _LONG, what)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1]
        return [part.strip().strip("'\"") for part in text.split(",") if part.strip()]
    return [value]


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    raise ValueError(f"expected a block {{ key = value }}, found {_found(value)}")


def _flat(block: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, part in block.items():
        if isinstance(part, Mapping):
            yield from _flat(part, f"{prefix}{key}.")
        elif part is not None:
            yield dotted(prefix, str(key)), part if isinstance(part, Resolved) else _text(part)


def _object_name(value: Any, wanted: str = 'expected an object in the form "package.module:name"') -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", value):
        raise ValueError(f"{wanted}, found {_found(value)}")
    return value


def _function(value: Any) -> Callable[..., Any]:
    if callable(value):
        return value  # type: ignore[no-any-return]
    wanted = 'expected a function in the form "package.module:name"'
    _object_name(value, wanted)
    module_name, _, path = value.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise ValueError(f"{wanted}; importing {module_name!r} failed: {error}") from error
    except AttributeError as error:
        raise ValueError(f"{wanted}; module {module_name!r} has no {path!r}") from error
    if not callable(found):
        raise ValueError(f"{wanted}; {value!r} cannot be called")
    return found  # type: ignore[no-any-return]


STRING: OptionType[str] = OptionType(name="text", parse=_text, textual=True, shape=json_shape.TEXT)
INTEGER: OptionType[int] = OptionType(
    name="integer",
    parse=lambda value: _whole(value, -(2**31), 2**31, "a whole number"),
    shape=json_shape.whole(-(2**31), 2**31 - 1),
)
LONG: OptionType[int] = OptionType(
    name="long", parse=lambda value: _whole(value, -_LONG, _LONG, "a whole number"), shape=json_shape.whole()
)
NUMBER: OptionType[float] = OptionType(name="number", parse=_number, shape=json_shape.NUMBER)
BOOLEAN: OptionType[bool] = OptionType(
    name="true or false", parse=_boolean, choices=(True, False), shape=json_shape.TRUTH
)
DURATION_MS: OptionType[int] = OptionType(
    name="duration",
    parse=lambda value: _measured(value, _MILLISECONDS, 'milliseconds, or a duration such as "10s"', low=0),
    shape=json_shape.MEASURED,
)
"""Duration in whole milliseconds; a string may have a unit: ``"10s"``, ``"5 min"``."""

SIZE: OptionType[int] = OptionType(
    name="size",
    parse=lambda value: _measured(value, _BYTES, 'bytes, or a size such as "128MB"', low=0),
    shape=json_shape.MEASURED,
)
"""Size in whole bytes, with units as in HOCON: ``MB`` is 1,000,000, and ``MiB`` or ``M`` is 1,048,576."""

FUNCTION: OptionType[Callable[..., Any]] = OptionType(name="function", parse=_function, shape=json_shape.TEXT)
"""A callable in code, or ``"package.module:name"`` in a file."""

OBJECT_NAME: OptionType[str] = OptionType(name="name of an object", parse=_object_name, shape=json_shape.TEXT)
"""``"package.module:name"`` of an object that is imported when it is used."""

MAP: OptionType[dict[str, str]] = OptionType(
    name="block of texts",
    parse=lambda value: dict(_flat(_mapping(value))),
    textual=True,
    nested=True,
    shape=json_shape.BLOCK,
)
"""Map of keys to strings. Nested blocks become dotted keys; a key with the value ``null`` counts as absent."""

_CONSTRAINT_COLUMN = dict.fromkeys(("columnName", "sortType", "indexName", "indexType", "metricType"))
_SCHEMA_KEYS: Keys = {
    **dict.fromkeys(("table", "schema_first", "comment", "fields", "partition_keys", "metadata_table_id")),
    "columns": dict.fromkeys(("name", "type", "nullable", "columnLength", "columnScale", "defaultValue", "comment")),
    "primaryKey": dict.fromkeys(("name", "columnNames", "columns")),
    "constraintKeys": {
        **dict.fromkeys(("constraintName", "constraintType")),
        "constraintColumns": _CONSTRAINT_COLUMN,
    },
}
SCHEMA: OptionType[dict[str, Any]] = OptionType(
    name="schema", parse=_mapping, textual=True, nested=True, keys=_SCHEMA_KEYS, shape=json_shape.BLOCK
)
"""A nested block, as plain dicts, lists and strings."""

NESTED: OptionType[dict[str, Any]] = OptionType(name="block", parse=_mapping, nested=True, shape=json_shape.BLOCK)
"""A nested block, as plain dicts, lists, strings, numbers, booleans and ``None``."""


def BLOCK(keys: Keys, *, closed: bool = False) -> OptionType[dict[str, Any]]:  # noqa: N802
    """Return a type like ``NESTED`` with only these keys. Other keys are errors if ``closed``."""
    return evolve(NESTED, keys=keys, closed=closed)


ANY: OptionType[Any] = OptionType(name="any value", parse=lambda value: value, nested=True)


def within(low: int, high: int) -> OptionType[int]:
    """Return the type of integers from ``low`` to ``high``, both inclusive."""
    return OptionType(
        name=f"integer from {low} to {high}",
        parse=lambda value: _whole(value, low, high + 1, "a whole number"),
        shape=json_shape.whole(low, high),
    )


def ENUM(*words: str) -> OptionType[str]:  # noqa: N802 - it reads as one of the types
    """Return the type of a keyword from ``words``. Case is ignored; the value is the keyword as given here."""
    by_lower = {word.lower(): word for word in words}
    shown = ", ".join(dict.fromkeys(word if word.isprintable() else repr(word)[1:-1] for word in words))

    def parse(value: Any) -> str:
        text = _text(value).lower()
        word = by_lower.get(text, by_lower.get(text.strip()))  # a line end is a word, too
        if word is None:
            raise ValueError(f"expected one of {shown}, found {_found(value)}")
        return word

    return OptionType(name=f"one of {shown}", parse=parse, textual=True, choices=words, shape=json_shape.words(*words))


def LIST(of: OptionType[T] = STRING) -> OptionType[tuple[T, ...]]:  # type: ignore[assignment]  # noqa: N802
    """Return the type of a list, a comma-separated string, or a single value; the parsed value is a tuple."""

    def parse(value: Any) -> tuple[T, ...]:
        return tuple(of.parse(part) for part in _listed(value))

    return OptionType(
        name=f"list of {of.name}",
        parse=parse,
        textual=of.textual,
        nested=of.nested,
        keys=of.keys,
        shape=json_shape.listed(of.shape),
    )


def ENTRIES(*declared: Option[Any]) -> OptionType[tuple[Options, ...]]:  # noqa: N802
    """Return the type of a list of blocks with declared options, such as ``tables_configs`` of a source."""
    by_key = {name: option for option in declared for name in (option.key, *option.aliases)}

    def parse(value: Any) -> tuple[Options, ...]:
        return tuple(entry(_mapping(part)) for part in _listed(value))

    def entry(block: Mapping[str, Any]) -> Options:
        unknown = [key for key in block if key not in by_key]
        if unknown:
            raise ValueError(f"an entry has the unknown option {unknown[0]!r}")
        values = {by_key[key].key: by_key[key].type.parse(value) for key, value in block.items()}
        return Options(values, declared)

    return OptionType(name="list of blocks", parse=parse, nested=True, entries=declared)
