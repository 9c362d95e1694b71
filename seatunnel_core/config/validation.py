"""Validation of a block: typed options, and a message for each mistake."""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.config.document import Block, Items, Position, Scalar, Value, by_hocon, dotted, plain
from seatunnel_core.config.option import MAP, Keys, Option, Options, OptionType
from seatunnel_core.config.problem import Problems, nearest
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.secret import Resolved, refers, resolve
from seatunnel_storage_api.secret_store import SCHEME


class Unknown(enum.Enum):
    """Treatment of undeclared keys."""

    ERROR = "error"
    LENIENT = "lenient"
    """Report a warning, because existing files contain unused keys, or an error with ``--strict``."""


@frozen(kw_only=True)
class BlockRules:
    """Name of a block, and keys that are allowed in addition to the declared options."""

    what: str
    """Description of the block in messages: ``"env"``, ``"the source LocalFile"``."""

    unknown: Unknown = Unknown.ERROR

    free: tuple[str, ...] = ()
    """Prefixes of keys that are collected unchanged, such as ``spark.``."""

    noted: Mapping[str, str] = field(factory=dict)
    """Prefixes of keys for other engines, with an explanation for the warning."""

    elsewhere: Mapping[str, str] = field(factory=dict)
    """Keys that belong to another block or file, mapped to its name, such as ``"env"``."""


@frozen
class Validated:
    """Result of a validation: the valid options of a block, and the invalid keys."""

    options: Options
    free: Mapping[str, str]
    """Values of keys with a free prefix, as strings by dotted key."""

    wrong: frozenset[str] = frozenset()
    """Options without a valid value, and undeclared keys that are errors."""

    positions: Mapping[str, Position] = field(factory=dict)
    """Position of each option in the block."""


@frozen
class _Found:
    key: str
    value: Value
    position: Position


def validate(block: Block, declared: Sequence[Option[Any]], rules: BlockRules, problems: Problems) -> Validated:
    """Validate a block: report mistakes to ``problems`` and return the valid options."""
    by_name = {name: option for option in declared for name in (option.key, *option.aliases)}
    values: dict[str, Any] = {}
    written: dict[str, Position] = {}
    free: dict[str, str] = {}
    unknown: list[_Found] = []
    wrong: set[str] = set()
    prefixes = (*rules.free, *rules.noted)
    opening = _prefixes((*by_name, *rules.elsewhere))
    for found in _flattened(block, by_name, opening, prefixes, ""):
        option = by_name.get(found.key)
        if option is not None:
            if not _take(option, found, values, written, rules, problems):
                wrong.add(option.key)
        elif found.key.startswith(rules.free):
            _collect(found, free, problems)
        else:
            unknown.append(found)
    missing = [
        option
        for option in declared
        if option.required and option.key not in written and not written.keys() & set(option.unless)
    ]
    for option in missing:
        _report_missing(option, block, unknown, rules, problems)
    wrong |= {option.key for option in missing}
    for found in unknown:
        if _report_unknown(found, by_name, rules, problems):
            wrong.add(found.key)
    return Validated(Options(values, tuple(declared)), free, frozenset(wrong), written)


def _prefixes(names: Iterable[str]) -> frozenset[str]:
    """Return ``a`` and ``a.b`` for ``a.b.c``, the blocks that may contain the dotted key."""
    longer = (name for name in names if "." in name)
    return frozenset(name[:at] for name in longer for at, sign in enumerate(name) if sign == ".")


def _flattened(
    block: Block, declared: Mapping[str, Option[Any]], opening: frozenset[str], free: tuple[str, ...], prefix: str
) -> Iterator[_Found]:
    """Yield the dotted keys of a block, down to the depth of the declarations."""
    for entry in block:
        key = dotted(prefix, entry.key)
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
    rules: BlockRules,
    problems: Problems,
) -> bool:
    """Parse the value of an option into ``values``, and return True if it is valid."""
    if option.type is not MAP and not option.type.entries:
        found = evolve(found, value=by_hocon(found.value, problems.warn))
    if isinstance(found.value, Scalar) and found.value.value is None:
        return True
    if option.key in written:
        message = f"{rules.what} has the option {option.key!r} twice"
        problems.error(message, found.position, f"It is first set at {written[option.key]}")
        return False
    written[option.key] = found.position
    if found.key != option.key:
        problems.warn_once(f"{found.key!r} is an older name", found.position, f"Use {option.key!r}")
    if option.type.entries:
        return _take_entries(option, found, values, rules, problems)
    try:
        values[option.key] = option.type.parse(_written(option, found))
    except StorageConfigurationError as error:
        problems.error(f"{rules.what}: {error}", found.value.position)
        return False
    except ValueError as error:
        reason = f"expected {option.type.name} (the value is not shown)" if option.secret else str(error)
        unit = f" (in {option.unit})" if option.unit else ""
        problems.error(f"{rules.what}: {found.key!r}{unit}: {reason}", found.value.position)
        return False
    if option.no_effect:
        problems.warn_once(f"{found.key!r} has no effect: {option.no_effect}", found.position)
    if option.type.keys is not None:
        return _report_keys(found.key, found.value, option.type, option.type.keys, rules, problems)
    return True


def _report_keys(
    path: str, value: Value, kind: OptionType[Any], keys: Keys, rules: BlockRules, problems: Problems
) -> bool:
    """Report unknown keys in the blocks of an option; return False if a ``closed`` option has any."""
    right = True
    report = problems.error if kind.closed else problems.lenient
    if isinstance(value, Items):
        for each in value.values:
            right = _report_keys(path, each, kind, keys, rules, problems) and right
    for entry in value if isinstance(value, Block) else ():
        if entry.key not in keys:
            close = nearest(entry.key, keys)
            suggestion = f"Did you mean {close!r}?" if close else f"Valid keys: {', '.join(sorted(keys))}"
            report(f"{rules.what}: {path} has no {entry.key!r}", entry.position, suggestion)
            right = right and not kind.closed
            continue
        below = keys[entry.key]
        if below is not None:
            right = _report_keys(f"{path}.{entry.key}", entry.value, kind, below, rules, problems) and right
    return right


def _take_entries(
    option: Option[Any], found: _Found, values: dict[str, Any], rules: BlockRules, problems: Problems
) -> bool:
    """Parse a list of blocks as ``_take`` does. Each block is validated as a numbered entry."""
    blocks = found.value.values if isinstance(found.value, Items) else (found.value,)
    entries, right = [], True
    for number, block in enumerate(blocks, 1):
        if not isinstance(block, Block):
            problems.error(f"{rules.what}: {found.key!r}: expected a list of blocks [ {{ … }} ]", block.position)
            return False
        what = f"entry {number} of {option.key} in {rules.what}"
        validated = validate(block, option.type.entries, BlockRules(what=what, unknown=rules.unknown), problems)
        entries.append(validated.options)
        right = right and not validated.wrong
    values[option.key] = tuple(entries)
    return right


def _written(option: Option[Any], found: _Found) -> Any:
    """Return the value of an option. If it is a secret reference to be resolved, read the secret from its store."""
    value = plain(found.value, textual=option.type.textual)
    if not option.secret and isinstance(value, str) and value.startswith(SCHEME) and refers(value):
        raise StorageConfigurationError(
            f"the value of {found.key!r} is the secret reference {value}, but {found.key!r} is not a secret option: "
            "its value is displayed and stored. Set the value itself, or ${NAME}"
        )
    return _fetched(found.key, value) if option.secret and not option.no_effect else value


def _fetched(key: str, value: Any) -> Any:
    """Return a secret, or a block of strings with its secret references resolved."""
    if isinstance(value, str):
        return resolve(key, value, secret=True)
    if isinstance(value, dict):
        return {name: _member(f"{key}.{name}", each) for name, each in value.items()}
    return value


def _member(key: str, value: Any) -> Any:
    return resolve(key, value, secret=True) if isinstance(value, str) and value.startswith(SCHEME) else value


def _collect(found: _Found, free: dict[str, str], problems: Problems) -> None:
    if not isinstance(found.value, Scalar):
        problems.error(f"{found.key!r} must be a string or a number", found.value.position)
    elif found.value.value is not None:
        try:
            value = found.value.value
            free[found.key] = resolve(found.key, value if isinstance(value, Resolved) else found.value.text)
        except StorageConfigurationError as error:
            problems.error(str(error), found.value.position)


def _report_missing(
    option: Option[Any], block: Block, unknown: list[_Found], rules: BlockRules, problems: Problems
) -> None:
    """Report a missing option. If a misspelt key was probably meant, report both as one mistake."""
    close = nearest(option.key, [found.key for found in unknown])
    message = f"{rules.what} needs the option {option.key!r} ({option.type.name})"
    if close is None:
        problems.error(message, block.position, option.doc)
        return
    misspelt = next(found for found in unknown if found.key == close)
    unknown.remove(misspelt)
    problems.error(message, misspelt.position, f"Did you misspell it as {close!r}?")


def _report_unknown(found: _Found, declared: Mapping[str, Option[Any]], rules: BlockRules, problems: Problems) -> bool:
    """Report an undeclared key, and return True if it is an error."""
    for prefix, note in rules.noted.items():
        alike = (key.removeprefix(prefix) for key in declared if key.startswith(prefix))
        if found.key.startswith(prefix) and nearest(found.key.removeprefix(prefix), alike) is None:
            problems.warn(f"{found.key!r} has no effect: {note}", found.position)
            return False
    close = nearest(found.key, [*declared, *_prefixes(declared)])
    home = rules.elsewhere.get(found.key)
    known = sorted({option.key for option in declared.values()})
    if home:
        suggestion = f"It belongs in {home}"
    elif close:
        suggestion = f"Did you mean {declared[close].key if close in declared else close!r}?"
    else:
        suggestion = f"Valid options: {', '.join(known)}" if len(known) <= 12 else ""
    report = problems.error if rules.unknown is Unknown.ERROR else problems.lenient
    report(f"{rules.what} has no option {found.key!r}", found.position, suggestion)
    return rules.unknown is Unknown.ERROR or problems.strict
