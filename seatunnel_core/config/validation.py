"""Turning a block of a file into typed options, with a sentence for everything that is wrong in it."""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.config.document import Block, Items, Position, Scalar, Value, plain
from seatunnel_core.config.option import Keys, Option, Options
from seatunnel_core.config.problem import Problems, nearest
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.secret import resolve


class Unknown(enum.Enum):
    """What a key is that nobody declared."""

    ERROR = "error"
    LENIENT = "lenient"
    """A warning, because existing files carry leftovers; an error under ``--strict``."""


@frozen(kw_only=True)
class Place:
    """What kind of block is validated, and what may stand in it besides the declared options."""

    what: str
    """As in a sentence: ``"env"``, ``"the source LocalFile"``."""

    unknown: Unknown = Unknown.ERROR

    free: tuple[str, ...] = ()
    """Prefixes of keys that are collected as they are, for example ``spark.``."""

    noted: Mapping[str, str] = field(factory=dict)
    """Prefixes of leftovers of other engines, with what is said about them in a warning."""

    elsewhere: Mapping[str, str] = field(factory=dict)
    """Keys that belong into another block or file, with that place: ``"env"``."""


@frozen
class Validated:
    options: Options
    free: Mapping[str, str]
    """The collected keys, dotted, with their texts."""

    wrong: frozenset[str] = frozenset()
    """Options without a value that can be relied on, and keys that nobody declared, of which an error was told."""

    positions: Mapping[str, Position] = field(factory=dict)
    """Where each option stands that the block has."""


@frozen
class _Found:
    key: str
    value: Value
    position: Position


def validate(block: Block, declared: Sequence[Option[Any]], place: Place, problems: Problems) -> Validated:
    """Read a block. Everything wrong goes to ``problems``; what is right is in the result even so."""
    by_name = {name: option for option in declared for name in (option.key, *option.aliases)}
    values: dict[str, Any] = {}
    written: dict[str, Position] = {}
    free: dict[str, str] = {}
    unknown: list[_Found] = []
    wrong: set[str] = set()
    prefixes = (*place.free, *place.noted)
    opening = _prefixes((*by_name, *place.elsewhere))
    for found in _flattened(block, by_name, opening, prefixes, ""):
        option = by_name.get(found.key)
        if option is not None:
            if not _take(option, found, values, written, place, problems):
                wrong.add(option.key)
        elif found.key.startswith(place.free):
            _collect(found, free, problems)
        else:
            unknown.append(found)
    missing = [
        option
        for option in declared
        if option.required and option.key not in written and not written.keys() & set(option.unless)
    ]
    for option in missing:
        _report_missing(option, block, unknown, place, problems)
    wrong |= {option.key for option in missing}
    for found in unknown:
        if _report_unknown(found, by_name, place, problems):
            wrong.add(found.key)
    return Validated(Options(values, tuple(declared)), free, frozenset(wrong), written)


def _prefixes(names: Iterable[str]) -> frozenset[str]:
    """``a`` and ``a.b`` for ``a.b.c``: the blocks in which dotted keys may stand."""
    dotted = (name for name in names if "." in name)
    return frozenset(name[:at] for name in dotted for at, sign in enumerate(name) if sign == ".")


def _flattened(
    block: Block, declared: Mapping[str, Option[Any]], opening: frozenset[str], free: tuple[str, ...], prefix: str
) -> Iterator[_Found]:
    """The keys of a block with dots, as deep as the declarations go; the empty name is the key of the block itself."""
    for entry in block:
        key = prefix + entry.key if entry.key else prefix.removesuffix(".")
        option = declared.get(key)
        opens = key in opening or any(f"{key}.".startswith(each) for each in free)
        if isinstance(entry.value, Block) and opens and not (option and option.type.nested):
            yield from _flattened(entry.value, declared, opening, free, f"{key}.")
        else:
            yield _Found(key, entry.value, entry.position)


def _take(
    option: Option[Any],
    found: _Found,
    values: dict[str, Any],
    written: dict[str, Position],
    place: Place,
    problems: Problems,
) -> bool:
    """Whether the value is right."""
    if isinstance(found.value, Scalar) and found.value.value is None:
        return True
    if option.key in written:
        message = f"{place.what} has the option {option.key!r} twice"
        problems.error(message, found.position, f"It stands at {written[option.key]} already")
        return False
    written[option.key] = found.position
    if found.key != option.key:
        problems.warn_once(f"{found.key!r} is an older name", found.position, f"Write {option.key!r}")
    if option.type.entries:
        return _take_entries(option, found, values, place, problems)
    try:
        values[option.key] = option.type.parse(_written(option, found))
    except StorageConfigurationError as error:
        problems.error(f"{place.what}: {error}", found.value.position)
        return False
    except ValueError as error:
        reason = f"expected {option.type.name} (the value is not shown)" if option.secret else str(error)
        unit = f" (in {option.unit})" if option.unit else ""
        problems.error(f"{place.what}: {found.key!r}{unit}: {reason}", found.value.position)
        return False
    if option.no_effect:
        problems.warn_once(f"{found.key!r} has no effect: {option.no_effect}", found.position)
    if option.type.keys is not None:
        _report_keys(found.key, found.value, option.type.keys, place, problems)
    return True


def _report_keys(path: str, value: Value, keys: Keys, place: Place, problems: Problems) -> None:
    """Tell the keys inside of an option's blocks that nobody looks at, as existing files have them."""
    if isinstance(value, Items):
        for each in value.values:
            _report_keys(path, each, keys, place, problems)
    for entry in value if isinstance(value, Block) else ():
        if entry.key not in keys:
            close = nearest(entry.key, keys)
            suggestion = f"Did you mean {close!r}?" if close else f"Known are: {', '.join(sorted(keys))}"
            problems.lenient(f"{place.what}: {path} has no {entry.key!r}", entry.position, suggestion)
            continue
        below = keys[entry.key]
        if below is not None:
            _report_keys(f"{path}.{entry.key}", entry.value, below, place, problems)


def _take_entries(option: Option[Any], found: _Found, values: dict[str, Any], place: Place, problems: Problems) -> bool:
    """As ``_take``, for a list of blocks: each is a block like any other, whose problems are told where they stand."""
    blocks = found.value.values if isinstance(found.value, Items) else (found.value,)
    entries, right = [], True
    for number, block in enumerate(blocks, 1):
        if not isinstance(block, Block):
            problems.error(f"{place.what}: {found.key!r}: expected a list of blocks [ {{ … }} ]", block.position)
            return False
        what = f"entry {number} of {option.key} in {place.what}"
        validated = validate(block, option.type.entries, Place(what=what, unknown=place.unknown), problems)
        entries.append(validated.options)
        right = right and not validated.wrong
    values[option.key] = tuple(entries)
    return right


def _written(option: Option[Any], found: _Found) -> Any:
    """The value as it stands in the file; a secret that stands elsewhere is fetched."""
    value = plain(found.value, textual=option.type.textual)
    return resolve(found.key, value, secret=True) if option.secret and isinstance(value, str) else value


def _collect(found: _Found, free: dict[str, str], problems: Problems) -> None:
    if not isinstance(found.value, Scalar):
        problems.error(f"{found.key!r} takes a text or a number", found.value.position)
    elif found.value.value is not None:
        try:
            free[found.key] = resolve(found.key, found.value.text)
        except StorageConfigurationError as error:
            problems.error(str(error), found.value.position)


def _report_missing(option: Option[Any], block: Block, unknown: list[_Found], place: Place, problems: Problems) -> None:
    """A misspelt key of a required option is one mistake, not two."""
    close = nearest(option.key, [found.key for found in unknown])
    message = f"{place.what} needs the option {option.key!r} ({option.type.name})"
    if close is None:
        problems.error(message, block.position, option.doc)
        return
    misspelt = next(found for found in unknown if found.key == close)
    unknown.remove(misspelt)
    problems.error(message, misspelt.position, f"Is it meant by {close!r}?")


def _report_unknown(found: _Found, declared: Mapping[str, Option[Any]], place: Place, problems: Problems) -> bool:
    """Whether it is an error."""
    for prefix, note in place.noted.items():
        if found.key.startswith(prefix):
            problems.warn(f"{found.key!r} has no effect: {note}", found.position)
            return False
    close = nearest(found.key, [*declared, *_prefixes(declared)])
    home = place.elsewhere.get(found.key)
    known = sorted({option.key for option in declared.values()})
    if home:
        suggestion = f"It belongs into {home}"
    elif close:
        suggestion = f"Did you mean {declared[close].key if close in declared else close!r}?"
    else:
        suggestion = f"Known are: {', '.join(known)}" if len(known) <= 12 else ""
    report = problems.error if place.unknown is Unknown.ERROR else problems.lenient
    report(f"{place.what} has no option {found.key!r}", found.position, suggestion)
    return place.unknown is Unknown.ERROR or problems.strict
