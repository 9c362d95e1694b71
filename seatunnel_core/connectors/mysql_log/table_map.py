"""Table map events, which describe a table before the rows of each statement."""

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.fields import Fields

_SIGNEDNESS, _DEFAULT_CHARSET, _COLUMN_CHARSET, _NAMES, _SET_MEMBERS, _ENUM_MEMBERS = 1, 2, 3, 4, 5, 6
_KEY, _KEY_WITH_PREFIX, _MEMBER_DEFAULT_CHARSET, _MEMBER_COLUMN_CHARSET, _VISIBILITY = 8, 9, 10, 11, 12
"""Types of optional metadata. Other types (geometry types, vector dimensions) do not affect values."""


@frozen(kw_only=True)
class RawColumn:
    """A column as described by a table map."""

    type: int
    """Type code, with ENUM and SET resolved."""

    meta: tuple[int, ...] = ()
    """Metadata of the type: lengths, precision, fractional digits."""

    nullable: bool = True
    name: str | None = None
    """Column name; ``None`` unless the server has ``binlog_row_metadata = FULL``."""

    unsigned: bool | None = None
    """True for an unsigned number; ``None`` for other types, or if the server does not log this metadata."""

    collation: int | None = None
    """Collation ID of a string, an ENUM or a SET; ``None`` if the server does not log it."""

    members: tuple[bytes, ...] | None = None
    """Members of an ENUM or SET, encoded in its character set."""

    visible: bool = True


@frozen(kw_only=True)
class TableMap:
    """A table as described by a table map."""

    database: str
    table: str
    columns: tuple[RawColumn, ...] = field(repr=False)
    key: tuple[int, ...] | None = None
    """Indexes of the primary key columns; ``None`` if the server does not log them."""


def table_map_of(body: bytes, *, of_maria: bool = False) -> TableMap:
    """Parse the part of a table map event after its table ID and flags.

    In MariaDB's log, the signedness metadata includes YEAR columns.

    Raises:
        MalformedLogError: The event is truncated.
        UnsupportedLogError: A column has an unknown type.
    """
    fields = Fields(body, "a table map event")
    database = fields.sized().decode()
    fields.take(1)
    table = fields.sized().decode()
    fields.take(1)
    codes = fields.take(fields.packed())
    metas = _metas(codes, Fields(fields.packed_bytes(), "the metadata of a table map"), f"{database}.{table}")
    nulls = fields.take((len(codes) + 7) // 8)
    columns = [
        {"type": code, "meta": meta, "nullable": bool(nulls[number // 8] >> number % 8 & 1)}
        for number, (code, meta) in enumerate(metas)
    ]
    key = _optional(fields, columns, (*ct.SIGNED, ct.YEAR) if of_maria else ct.SIGNED)
    return TableMap(database=database, table=table, key=key, columns=tuple(RawColumn(**each) for each in columns))  # type: ignore[arg-type]


def _metas(codes: bytes, fields: Fields, table: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    for number, code in enumerate(codes):
        size = ct.META_BYTES.get(code)
        if size is None:
            raise UnsupportedLogError(
                f"{table}: column {number + 1} has the type {code}, which this version does not support; exclude the "
                "table"
            )
        meta = fields.take(size)
        if code == ct.STRING:
            yield _string(meta[0], meta[1])
        elif code in (ct.VARCHAR, ct.VARCHAR_COMPRESSED):
            yield code, (meta[0] | meta[1] << 8,)
        else:
            yield code, tuple(meta)


def _string(first: int, second: int) -> tuple[int, tuple[int, ...]]:
    """Return the type and metadata of a CHAR, ENUM or SET column. The type byte may contain two bits of the length."""
    if first & 0x30 != 0x30:
        return first | 0x30, (second | (first & 0x30 ^ 0x30) << 4,)
    return first, (second,)


def _optional(fields: Fields, columns: list[dict[str, object]], signed: Sequence[int]) -> tuple[int, ...] | None:
    """Add optional metadata to the columns, and return the primary key."""
    key: tuple[int, ...] | None = None
    kinds = [each["type"] for each in columns]
    numbers = [number for number, kind in enumerate(kinds) if kind in signed]
    texts = [number for number, kind in enumerate(kinds) if kind in ct.TEXTS]
    of_members = [number for number, kind in enumerate(kinds) if kind in (ct.ENUM, ct.SET)]
    while fields.left:
        kind = fields.integer(1)
        value = Fields(fields.packed_bytes(), "the optional metadata of a table map")
        if kind == _SIGNEDNESS:
            bits = value.rest()
            found = {n: bool(bits[i // 8] >> 7 - i % 8 & 1) for i, n in enumerate(numbers)}
            _put(columns, "unsigned", {n: sign for n, sign in found.items() if kinds[n] != ct.YEAR})
        elif kind in (_DEFAULT_CHARSET, _MEMBER_DEFAULT_CHARSET):
            _put(columns, "collation", _default_charset(value, texts if kind == _DEFAULT_CHARSET else of_members))
        elif kind in (_COLUMN_CHARSET, _MEMBER_COLUMN_CHARSET):
            among = texts if kind == _COLUMN_CHARSET else of_members
            _put(columns, "collation", {number: value.packed() for number in among})
        elif kind == _NAMES:
            _put(columns, "name", {number: value.packed_bytes().decode() for number in range(len(columns))})
        elif kind in (_SET_MEMBERS, _ENUM_MEMBERS):
            wanted = ct.SET if kind == _SET_MEMBERS else ct.ENUM
            _put(columns, "members", {n: _members(value) for n in of_members if kinds[n] == wanted})
        elif kind == _VISIBILITY:
            bits = value.rest()
            _put(columns, "visible", {n: bool(bits[n // 8] >> 7 - n % 8 & 1) for n in range(len(columns))})
        elif kind in (_KEY, _KEY_WITH_PREFIX):
            key = tuple(_key(value, with_prefix=kind == _KEY_WITH_PREFIX))
    return key


def _put(columns: Sequence[dict[str, object]], name: str, values: Mapping[int, object]) -> None:
    for number, value in values.items():
        columns[number][name] = value


def _default_charset(value: Fields, among: Sequence[int]) -> dict[int, int]:
    default = value.packed()
    found = dict.fromkeys(among, default)
    while value.left:
        position, collation = value.packed(), value.packed()
        found[among[position]] = collation
    return found


def _members(value: Fields) -> tuple[bytes, ...]:
    return tuple(value.packed_bytes() for _ in range(value.packed()))


def _key(value: Fields, *, with_prefix: bool) -> Iterator[int]:
    while value.left:
        yield value.packed()
        if with_prefix:
            value.packed()
