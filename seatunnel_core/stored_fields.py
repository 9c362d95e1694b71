"""JSON records derived from the fields of attrs classes.

The type of a field determines its JSON value, which is checked as in ``stored``:

==========================================  =====================================================
``str``, ``int``, ``bool``                  string, integer, boolean
``float``                                   seconds
an enum                                     value of the member
a ``Stored`` class                          record
``X | None``                                null, or as ``X``
``tuple[X, ...]``                           list
``Mapping[str, X]``                         block
``Any``                                     any JSON value
==========================================  =====================================================
"""

import enum
import types
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, Attribute, Factory, evolve, field, fields, frozen

from seatunnel_core import stored

_KEY = "stored"


@frozen(kw_only=True)
class _Form:
    added: bool = False
    """True if records may lack the field."""

    omitted: bool = False
    """True if records omit the field when it has its default value."""

    path: bool = False
    """True if strings may be file names, which need not be UTF-8."""

    loose: bool = False
    """True if strings may contain lone surrogates."""

    least: int = 0
    inlined: bool = False
    """True if the members of the ``Stored`` object are members of the record itself."""


def added(
    default: Any = NOTHING, *, omitted: bool = False, path: bool = False, loose: bool = False, **more: Any
) -> Any:
    """Declare a field that records of earlier versions may lack.

    Args:
        default: Value for records without the field.
        omitted: True to omit the field from records when it has its default value.
        path: True if its strings may be file names.
        loose: True if its strings may contain lone surrogates, as in messages with file names.
        **more: Further arguments of ``attrs.field``.
    """
    return field(default=default, metadata={_KEY: _Form(added=True, omitted=omitted, path=path, loose=loose)}, **more)


def required(
    default: Any = NOTHING,
    *,
    path: bool = False,
    loose: bool = False,
    least: int = 0,
    inlined: bool = False,
    **more: Any,
) -> Any:
    """Declare a field that every record contains.

    Args:
        default: Default for new objects; it does not apply to records.
        path: True if its strings may be file names.
        loose: True if its strings may contain lone surrogates, as in messages with file names.
        least: Minimum value of a number.
        inlined: True if the members of its ``Stored`` object are members of the record itself.
        **more: Further arguments of ``attrs.field``.
    """
    return field(default=default, metadata={_KEY: _Form(path=path, loose=loose, least=least, inlined=inlined)}, **more)


class Stored:
    """Base class of attrs classes with a JSON record."""

    __slots__ = ()

    def record(self) -> dict[str, Any]:
        """Return the JSON values of the fields, in their order."""
        written: dict[str, Any] = {}
        for each in (_CODECS.get(type(self)) or _codec(type(self))).written:
            value = each.get(self)
            if not (each.form.omitted and value == each.default):
                written[each.name] = value if value is None or each.write is None else each.write(value)
        return written

    @classmethod
    def from_record(cls, block: Any) -> Self:
        """Return the object that was stored with ``record``.

        Raises:
            StoredValueError: The record is not a block, or a member is missing or has the wrong type.
            ValueError: A value is not valid for its enum.
        """
        return cls(**read_fields(cls, block))


def read_fields(cls: type[Any], block: Any, *, partial: bool = False) -> dict[str, Any]:
    """Return the values of the fields in a record. With ``partial``, fields with a default may be missing."""
    given = {}
    for each in (_CODECS.get(cls) or _codec(cls)).read:
        may_lack = each.form.added or (partial and each.default is not NOTHING)
        if not may_lack or stored.has(block, each.name):
            given[each.name] = each.take(block, each.name)
    return given


_Reader = Callable[[Any, str], Any]
_Writer = Callable[[Any], Any] | None


@frozen(kw_only=True)
class _Field:
    name: str
    form: _Form
    default: Any
    """Default value; ``NOTHING`` for none."""

    get: Callable[[Any], Any]
    """Function that returns the field's value for an object."""

    write: _Writer
    take: _Reader


@frozen(kw_only=True)
class _Codec:
    read: tuple[_Field, ...]
    written: tuple[_Field, ...]
    """Fields as they occur in a record: each inlined object is replaced by its fields."""


_CODECS: dict[type[Any], _Codec] = {}


def _codec(cls: type[Any]) -> _Codec:
    """Return the fields of a class with their writers and readers, and cache them."""
    hints = get_type_hints(cls)
    read = tuple(_field(each, hints[each.name]) for each in fields(cls))
    written = tuple(
        part for each in read for part in (_parts(each, hints[each.name]) if each.form.inlined else (each,))
    )
    _CODECS[cls] = codec = _Codec(read=read, written=written)
    return codec


def _parts(inlined: _Field, cls: type[Any]) -> tuple[_Field, ...]:
    return tuple(evolve(each, get=attrgetter(f"{inlined.name}.{each.name}")) for each in _codec(cls).read)


def _field(attribute: "Attribute[Any]", hint: Any) -> _Field:
    form: _Form = attribute.metadata.get(_KEY, _PLAIN)
    default: Any = attribute.default
    if isinstance(default, Factory):  # type: ignore[arg-type]
        default = default.factory()
    get, write, take = attrgetter(attribute.name), _writer(hint), _reader(hint, form)
    return _Field(name=attribute.name, form=form, default=default, get=get, write=write, take=take)


_PLAIN = _Form()


def _writer(hint: Any) -> _Writer:
    """Return a function that converts a value to JSON; ``None`` if the value is JSON already."""
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return lambda value: value.value
    if isinstance(hint, type) and issubclass(hint, Stored):
        return hint.record
    if origin in (Union, types.UnionType):
        return _writer(inner[0])
    if origin is tuple:
        write = _writer(inner[0])
        return list if write is None else (lambda value: list(map(write, value)))
    if origin is Mapping:
        write_item = _writer(inner[1])
        return dict if write_item is None else (lambda value: {key: write_item(item) for key, item in value.items()})
    return None


def _reader(hint: Any, form: _Form) -> _Reader:
    origin, inner = get_origin(hint), get_args(hint)
    if form.least and hint is int:
        return lambda block, key: stored.number(block, key, least=form.least)
    if form.loose and hint is str:
        return stored.string
    if hint in _SCALARS:
        return stored.path if form.path and hint is str else _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return lambda block, key: hint(stored.text(block, key))
    if isinstance(hint, type) and issubclass(hint, Stored):
        return lambda block, key: hint.from_record(block if form.inlined else stored.member(block, key))
    take = _reader(inner[0 if origin is not Mapping else 1], form)
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
