"""Declaration of command-line options as fields of the class that holds the parsed arguments."""

import argparse
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from attrs import NOTHING, Attribute, field, fields, frozen

C = TypeVar("C")

_KEY = "option"


@frozen(kw_only=True)
class _Declared:
    flags: tuple[str, ...]
    exclusive: str
    aliases: Mapping[str, str]
    how: Mapping[str, Any]


def option(
    *flags: str,
    default: Any = None,
    converter: Callable[[Any], Any] | None = None,
    exclusive: str = "",
    aliases: Mapping[str, str] | None = None,
    repr: bool = True,
    **how: Any,
) -> Any:
    """Declare a field that a command-line option sets.

    Args:
        *flags: Flags of the option.
        default: Value if the option is not given.
        converter: Function that converts the parsed value.
        exclusive: Name of a group of mutually exclusive options; empty for none.
        aliases: Separate help texts, by flag.
        repr: False for values that may be secret.
        **how: Further arguments of ``ArgumentParser.add_argument``.
    """
    declared = _Declared(flags=flags, exclusive=exclusive, aliases=aliases or {}, how=how)
    return field(default=default, converter=converter, repr=repr, metadata={_KEY: declared})


def switch(*flags: str, help: str, exclusive: str = "") -> Any:
    """Declare a field that is true if one of the flags is given."""
    return option(*flags, default=False, exclusive=exclusive, action="store_true", help=help)


def add_options(parser: argparse._ActionsContainer, command: type[Any], only: Collection[str] | None = None) -> None:
    """Add the declared options of a class to a parser, in the order of the fields or of ``only``."""
    declared = _declared(command)
    groups: dict[str, argparse._ActionsContainer] = {}
    for name in declared if only is None else only:
        each = declared[name].metadata[_KEY]
        if each.exclusive and each.exclusive not in groups:
            groups[each.exclusive] = parser.add_mutually_exclusive_group()
        add = groups.get(each.exclusive, parser).add_argument
        how = {"default": None if (found := declared[name].default) is NOTHING else found, **each.how}
        add(*each.flags, dest=name, **how)
        for flag, help in each.aliases.items():
            add(*flag.split(), dest=name, **{**how, "help": help})


def read_options(command: type[C], values: argparse.Namespace, **more: Any) -> C:
    """Return an instance of the class with the parsed options; options that the parser lacks get their defaults."""
    given = {name: getattr(values, name) for name in _declared(command) if hasattr(values, name)}
    return command(**given, **more)


def flag_of(command: type[Any], name: str) -> str:
    """Return the first long flag of an option."""
    flags: tuple[str, ...] = _declared(command)[name].metadata[_KEY].flags
    return next(flag for flag in flags if flag.startswith("--"))


def _declared(command: type[Any]) -> dict[str, "Attribute[Any]"]:
    return {each.name: each for each in fields(command) if _KEY in each.metadata}
