"""Construction of plugins from validated options, with a report of all mistakes.

A constructor raises an error for its first invalid option. To find further ones, the plugin is constructed again
without the rejected options.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from attrs import frozen

from seatunnel_core.config.document import Block, Items, Position, plain
from seatunnel_core.config.job_file import RawBlock
from seatunnel_core.config.option import SCHEMA, Option, Options
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import Validated
from seatunnel_core.connector_api.several_tables import source_of
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.connectors.task_modules import missing
from seatunnel_core.errors import SeaTunnelError, each_of
from seatunnel_core.planning.plan import Plugin
from seatunnel_core.rows.schema_block import declared_table
from seatunnel_core.rows.types import VECTORS
from seatunnel_core.transforms.tables import transform_of

_NAMED = re.compile(r"option '([^']+)'")
_MOST_CHOICES = 64
"""Maximum number of combinations of values that are tried in place of rejected options."""


@frozen
class Mistake:
    """A mistake in the options of a plugin."""

    option: str | None
    """Key of the option; ``None`` if the message concerns several options or none."""

    message: str


def construct(
    plugin_class: type[Plugin],
    validated: Validated,
    block: RawBlock,
    problems: Problems,
    *,
    streaming: bool,
    rejected: frozenset[str],
) -> Plugin | None:
    """Return the plugin of a block, or report the mistakes in its options except those already ``rejected``."""
    made: Plugin | None = None

    def make(options: Options) -> None:
        nonlocal made
        made = _made(plugin_class, options, streaming=streaming)

    for mistake in mistakes(make, validated.options, rejected):
        position = validated.positions.get(mistake.option or "", block.position)
        problems.error(f"the {block.kind.value} {plugin_class.identifier}: {mistake.message}", position)
        rejected |= {mistake.option or ""}
    if rejected or made is None:
        return None
    lacking = missing(made)  # option values, such as a format, that need a package
    if lacking is not None:
        problems.error(lacking, block.position)
        return None
    return made


def mistakes(make: Callable[[Options], object], options: Options, rejected: frozenset[str]) -> list[Mistake]:
    """Return the mistakes in options other than ``rejected``, in the order in which the constructor reports them.

    A rejected option is omitted or, if it has few possible values, replaced with each of them. A further mistake counts
    only if it occurs with all of these values and concerns an option that is set; otherwise it may be a consequence.
    """
    found: list[Mistake] | None = None
    for values in _instead(options, rejected):
        without = _without(options, rejected, values)
        now = list(_one_by_one(make, without, rejected))
        found = now if found is None else [mistake for mistake in found if mistake in now]
        if not found:
            break
    return found or []


def _made(plugin_class: type[Plugin], options: Options, *, streaming: bool) -> Plugin:
    if issubclass(plugin_class, Source):
        source = source_of(plugin_class, options)
        source.run_in(streaming=streaming)
        return source
    if issubclass(plugin_class, Transform | DataFrameTransform):
        return transform_of(plugin_class, options)
    return plugin_class(options)


def _one_by_one(make: Callable[[Options], object], options: Options, rejected: frozenset[str]) -> Iterator[Mistake]:
    is_first = not rejected
    while True:
        try:
            make(options)
            return
        except (SeaTunnelError, ValueError) as error:
            messages = each_of(error)
        except Exception:
            if is_first:
                raise
            return  # the constructor expects an option that was left out
        key = _concerned(make, options, messages)
        is_usable = key is not None and options.is_set(key) and key not in rejected
        if not is_first and (not is_usable or _mentions(messages, rejected)):
            return
        yield from (Mistake(key, message) for message in messages)
        if key is None or not is_usable:
            return
        rejected |= {key}
        options = _without(options, {key}, {})
        is_first = False


def _concerned(make: Callable[[Options], object], options: Options, messages: tuple[str, ...]) -> str | None:
    """Return the option that the messages mention, or else an option whose omission changes the error."""
    named = _NAMED.match(messages[0])
    if named:
        return named[1]
    other = None
    for key in (option.key for option in options.declared if options.is_set(option) and not option.required):
        try:
            make(_without(options, {key}, {}))
        except (SeaTunnelError, ValueError) as error:
            if each_of(error) != messages:
                other = other or key
        except Exception:
            continue  # it requires the option
        else:
            return key
    return other


def _mentions(messages: tuple[str, ...], rejected: Iterable[str]) -> bool:
    """Return True if a message mentions an omitted option, so that it may be a consequence of the omission."""
    texts = [_NAMED.sub("", message, count=1) for message in messages]
    return any(re.search(rf"(?<![\w.]){re.escape(key)}(?![\w.])", text) for key in rejected for text in texts)


def _instead(options: Options, rejected: frozenset[str]) -> Iterator[Mapping[str, Any]]:
    """Yield values to use in place of rejected options, one combination at a time."""
    few = {option.key: option.type.choices for option in options.declared if option.key in rejected}
    few = {key: choices for key, choices in few.items() if choices}
    for number, chosen in enumerate(product(*few.values())):
        if number < _MOST_CHOICES:
            yield dict(zip(few, chosen, strict=True))


def _without(options: Options, keys: Iterable[str], instead: Mapping[str, Any]) -> Options:
    left_out = set(keys)
    kept = {key: options[key] for key in options if options.is_set(key) and key not in left_out}
    return Options({**kept, **instead}, options.declared)


_SOME_DIMENSIONS = dict.fromkeys(VECTORS, 8)
"""Dimension that is assumed for vectors without a dimension. The plugin checks whether it may be missing."""


def refuse_columns(written: Block, declared: Sequence[Option[Any]], what: str, problems: Problems) -> frozenset[str]:
    """Report the invalid columns of a schema, and return the keys of their options. ``what`` describes the block."""
    wrong: set[str] = set()
    for option in declared:
        schema = written.get(option.key) if option.type is SCHEMA else None
        for column, position in _columns(schema) if isinstance(schema, Block) else ():
            try:
                declared_table(column, _SOME_DIMENSIONS)
            except ValueError as error:
                problems.error(f"{what}: option {option.key!r}: {error}", position)
                wrong.add(option.key)
    return frozenset(wrong)


def _columns(schema: Block) -> Iterator[tuple[dict[str, object], Position]]:
    """Yield each column with a name and a type, as a schema with only this column, and its position."""
    fields, columns = schema.get("fields"), schema.get("columns")
    if isinstance(fields, Block):
        for entry in fields:
            yield {"fields": {entry.key: plain(entry.value, textual=True)}}, entry.position
    if isinstance(columns, Items):
        for column in columns.values:
            if isinstance(column, Block) and column.get("name") and column.get("type"):
                yield {"columns": [plain(column, textual=True)]}, column.position
