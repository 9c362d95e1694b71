"""JSON records derived from the fields of attrs classes.

The type of a field determines its JSON value, which is checked as in ``stored``:

==========================================  =====================================================
``str``, ``int``, ``bool``                  text, whole number, truth value
``float``                                   seconds
an enum                                     value of the member
a ``Stored`` class                            record
``X | None``                                null, or as ``X``
``tuple[X, ...]``                           list
``Mapping[str, X]``                         block
``Any``                                     any JSON value
==========================================  =====================================================
"""

import enum
import types
from collections.abc import Callable, Mapping
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, Attribute, Factory, field, fields, frozen

from seatunnel_core import stored

_KEY = "stored"


@frozen(kw_only=True)
class _Form:
    added: bool = False
    """True if records may lack the field."""

    omitted: bool = False
    """True if records omit the field while it has its default."""

    path: bool = False
    """True if strings may be file names, which need not be UTF-8."""


def added(default: Any = NOTHING, *, omitted: bool = False, path: bool = False, **more: Any) -> Any:
    """Declare a field that records may lack, such as those of earlier versions.

    Args:
        default: Value for records without the field.
        omitted: True to leave the field out of records while it has its default.
        path: True if its strings may be file names.
        **more: Further arguments of ``attrs.field``.
    """
    return field(default=default, metadata={_KEY: _Form(added=True, omitted=omitted, path=path)}, **more)


def paths() -> Any:
    """Declare a required field whose strings may be file names."""
    return field(metadata={_KEY: _Form(path=True)})


class Stored:
    """Base class of attrs classes with a JSON record."""

    __slots__ = ()

    def record(self) -> dict[str, Any]:
        """Return the JSON values of the fields, in their order."""
        written = {}
        for each, write, _ in _codec(type(self)):
            value = getattr(self, each.name)
            if not (_form(each).omitted and value == _default(each)):
                written[each.name] = value if write is None else write(value)
        return written

    @classmethod
    def from_record(cls, block: Any) -> Self:
        """Return the object that was stored with ``record``.

        Raises:
            StoredValueError: The record is not a block, lacks a member or has one of another type.
            ValueError: A value is not that of an enum.
        """
        return cls(**read_fields(cls, block))


def read_fields(cls: type[Any], block: Any, *, partial: bool = False) -> dict[str, Any]:
    """Return the values of the fields in a record.

    Args:
        cls: The class of the fields.
        block: The record, of any type.
        partial: True if each field with a default may be missing, and not only those declared with ``added``.
    """
    given = {}
    for each, _, take in _codec(cls):
        may_lack = _form(each).added or (partial and each.default is not NOTHING)
        if stored.has(block, each.name) or not may_lack:
            given[each.name] = take(block, each.name)
    return given


_Reader = Callable[[Any, str], Any]
_Writer = Callable[[Any], Any] | None


_Codec = tuple[tuple["Attribute[Any]", _Writer, _Reader], ...]

_CODECS: dict[type[Any], _Codec] = {}


def _codec(cls: type[Any]) -> _Codec:
    """Return the fields of a class with their writers and readers; cached."""
    if cls not in _CODECS:
        hints = get_type_hints(cls)
        _CODECS[cls] = tuple(
            (each, _writer(hints[each.name]), _reader(hints[each.name], path=_form(each).path)) for each in fields(cls)
        )
    return _CODECS[cls]


def _form(attribute: "Attribute[Any]") -> _Form:
    found: _Form = attribute.metadata.get(_KEY, _PLAIN)
    return found


_PLAIN = _Form()


def _default(attribute: "Attribute[Any]") -> Any:
    default: Any = attribute.default
    return default.factory() if isinstance(default, Factory) else default  # type: ignore[arg-type]


def _writer(hint: Any) -> _Writer:
    """Return the function that converts a value to JSON; ``None`` if it is a JSON value already."""
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return lambda value: value.value
    if isinstance(hint, type) and issubclass(hint, Stored):
        return hint.record
    if origin in (Union, types.UnionType):
        write = _writer(inner[0])
        return write and (lambda value: None if value is None else write(value))
    if origin is tuple:
        each = _writer(inner[0])
        return list if each is None else (lambda value: [each(item) for item in value])
    return dict if origin is Mapping else None


def _reader(hint: Any, *, path: bool) -> _Reader:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _SCALARS:
        return stored.path if path and hint is str else _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return lambda block, key: hint(stored.text(block, key))
    if isinstance(hint, type) and issubclass(hint, Stored):
        return lambda block, key: hint.from_record(stored.member(block, key))
    take = _reader(inner[0 if origin is not Mapping else 1], path=path)
    if origin in (Union, types.UnionType):
        return lambda block, key: None if stored.member(block, key) is None else take(block, key)
    if origin is tuple:
        return lambda block, key: tuple(take({key: each}, key) for each in stored.items(block, key))
    return lambda block, key: {name: take(found, name) for found in [stored.below(block, key)] for name in found}


_SCALARS: Mapping[Any, _Reader] = {
    str: stored.text,
    int: stored.number,
    bool: stored.flag,
    float: stored.seconds,
    Any: stored.member,
}
