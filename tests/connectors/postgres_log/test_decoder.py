"""The decoder on messages that were written by the documentation."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.postgres import types as known_types

from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch, Reason
from seatunnel_core.connectors.postgres_log.column_types import BaseType
from seatunnel_core.connectors.postgres_log.errors import LogError, MalformedLogError, UnsupportedLogError
from seatunnel_core.connectors.postgres_log.log_decoder import LogDecoder
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.rows.extent import BEYOND
from tests.connectors.postgres_log import encoder as of
from tests.connectors.postgres_log.log_shop import changes, rows


class BuiltInTypes:
    """Types that psycopg knows, without a server."""

    def base_types(self, columns: Sequence[tuple[int, int]]) -> Sequence[BaseType | None]:
        return [self._type(oid, modifier) for oid, modifier in columns]

    def _type(self, oid: int, modifier: int) -> BaseType | None:
        found = known_types.get(oid)
        if found is None:
            return None
        name = f"_{found.name}" if found.array_oid == oid else found.name
        length = f"({(modifier - 4) >> 16},{(modifier - 4) & 0x7FF})" if modifier >= 0 else ""
        return BaseType(
            name=name, declared=f"{found.regtype}{length}" + "[]" * (found.array_oid == oid), modifier=modifier
        )


INT8, TEXT, NUMERIC, BYTEA, FLOAT8, TEXTS = 20, 25, 1700, 17, 701, 1009
COLUMNS = [of.Column("id", INT8, key=True), of.Column("name", TEXT), of.Column("big", TEXT)]
T = 16_400


def decoder(**options: Any) -> LogDecoder:
    return LogDecoder(BuiltInTypes(), Lsn(1), **options)


def decode(messages: Sequence[bytes], end: int | None = None, **options: Any) -> list[ChangeBatch]:
    """Decode all messages; the last batch has what remained."""
    made, at, found = decoder(**options), 0, []
    while at < len(messages):
        batch, at = made.decode(messages, at, None if end is None else Lsn(end))
        if batch is None:
            break
        found.append(batch)
        if batch.reason is Reason.END:
            return found
    return [*found, made.batch(Reason.IDLE)]


def transaction(*changed: bytes, at: int = 100, xid: int = 7) -> list[bytes]:
    return [of.begin(at, xid), *changed, of.commit(at, at + 50)]


def table(columns: Sequence[of.Column] = COLUMNS, identity: str = "d", name: str = "t", oid: int = T) -> bytes:
    return of.relation(oid, name, columns, identity)


def test_rows_have_kind_transaction_and_order() -> None:
    (batch,) = decode(
        transaction(table(), of.insert(T, ["1", "a", None]), of.insert(T, ["2", "", "x" * 500]), xid=7)
        + transaction(of.update(T, ["1", "b", "y"]), of.delete(T, ["2", None, None], "K"), at=200, xid=8)
    )
    assert rows([batch]) == [
        ("+I", 1, "a", None),
        ("+I", 2, "", "x" * 500),
        ("+U", 1, "b", "y"),
        ("-D", 2, "absent", "absent"),
    ]
    (change,) = batch.changes
    assert [batch.transactions[number].xid for number in change.transactions] == [7, 7, 8, 8]
    assert change.numbers.tolist() == [0, 1, 2, 3]
    assert [(each.commit_lsn, each.end_lsn, each.complete) for each in batch.transactions] == [
        (Lsn(100), Lsn(150), True),
        (Lsn(200), Lsn(250), True),
    ]
    assert batch.position == Lsn(250)
    assert change.table.key == ("id",)


def test_rows_have_the_position_of_their_message() -> None:
    row = of.insert(T, ["1", "a", None])
    changed = of.update(T, ["2", "a", None], ["1", None, None], "K")
    at = [of.data(each[25:], lsn) for each, lsn in ((row, 2**63 + 5), (changed, 2**32 + 6))]
    (batch,) = decode(transaction(table(), *at))
    assert batch.changes[0].positions.tolist() == [2**63 + 5, 2**32 + 6, 2**32 + 6]


def test_a_changed_key_has_the_key_of_the_old_row_only() -> None:
    assert rows(decode(transaction(table(), of.update(T, ["2", "a", None], ["1", None, None], "K")))) == [
        ("-U", 1, "absent", "absent"),
        ("+U", 2, "a", None),
    ]


def test_an_unchanged_large_value_is_absent_or_taken_from_the_old_row() -> None:
    full = [of.Column(each.name, each.oid, key=True) for each in COLUMNS]
    assert rows(decode(transaction(table(), of.update(T, ["1", "b", ...])))) == [("+U", 1, "b", "absent")]
    mixed = decode(
        transaction(
            table(full, "f"),
            of.insert(T, ["1", None, "large"]),
            of.update(T, ["1", "b", ...], ["1", None, "large"]),
            of.update(T, ["1", ..., "c"], ["1", "b", "large"]),
            of.update(T, ["1", "d", ...], ["1", "b", ...]),
        )
    )
    assert rows(mixed) == [
        ("+I", 1, None, "large"),
        ("-U", 1, None, "large"),
        ("+U", 1, "b", "large"),
        ("-U", 1, "b", "large"),
        ("+U", 1, "b", "c"),
        ("-U", 1, "b", "absent"),
        ("+U", 1, "d", "absent"),
    ]
    assert changes(mixed)[0].arrived(2).tolist() == [True] * 5 + [False] * 2


def test_a_large_value_of_an_index_identity_is_taken_from_the_old_key() -> None:
    index = [of.Column("id", INT8), of.Column("name", TEXT), of.Column("big", TEXT, key=True)]
    found = decode(transaction(table(index, "i"), of.update(T, ["1", ..., ...], [None, None, "large"], "K")))
    assert rows(found) == [("-U", "absent", "absent", "large"), ("+U", 1, "absent", "large")]


def test_another_shape_of_a_table_begins_another_batch() -> None:
    renamed = [COLUMNS[0], of.Column("title", TEXT)]
    first, second = decode(
        transaction(table(), of.insert(T, ["1", "a", None]), table(), of.insert(T, ["2", "b", None]))
        + transaction(table(renamed), of.insert(T, ["3", "c"]), at=200)
    )
    assert (first.reason, rows([first])) == (Reason.SHAPE, [("+I", 1, "a", None), ("+I", 2, "b", None)])
    assert rows([second]) == [("+I", 3, "c")]
    one, two = first.changes[0].table, second.changes[0].table
    assert (one.version, two.version) == (1, 2)
    assert one.fingerprint != two.fingerprint
    assert two.schema.names == ["id", "title"]
    assert first.position == Lsn(150), "the second transaction was not read"


def test_rows_of_several_tables_are_ordered_by_number() -> None:
    (batch,) = decode(
        transaction(
            table(),
            table(name="other", oid=5),
            *(of.insert(oid, [str(number), None, None]) for number, oid in enumerate([5, T, T, 5])),
        )
    )
    other, first = batch.changes
    assert (other.table.name, other.numbers.tolist()) == ("other", [0, 3])
    assert (first.table.name, first.numbers.tolist()) == ("t", [1, 2])
    assert first.rows.column(0).to_pylist() == [1, 2]


def test_a_batch_is_bounded_also_within_a_transaction() -> None:
    inserts = [of.insert(T, [str(number), None, None]) for number in range(25)]
    found = decode(transaction(table(), *inserts), batch_rows=10)
    assert [batch.rows for batch in found] == [10, 10, 5]
    assert [batch.position for batch in found] == [Lsn(1), Lsn(1), Lsn(150)]
    assert [each.numbers[0] for batch in found for each in batch.changes] == [0, 10, 20]
    assert len({id(batch.transactions[0]) for batch in found}) == 1
    assert all(each.transactions.tolist() == [0] * len(each.transactions) for each in changes(found))
    large = decode(transaction(table(), *inserts), batch_bytes=3 * len(inserts[0]))
    assert [batch.rows for batch in large] == [3] * 8 + [1]


def test_a_range_ends_before_the_first_later_commit_or_at_a_later_keepalive() -> None:
    messages = transaction(table(), of.insert(T, ["1", "a", None]), at=100) + transaction(at=200)
    made = decoder()
    batch, at = made.decode(messages, 0, Lsn(200))
    assert batch is not None
    assert (batch.reason, batch.position, at, rows([batch])) == (Reason.END, Lsn(200), 4, [("+I", 1, "a", None)])
    batch, at = made.decode([*messages[at:], of.keepalive(299), of.keepalive(300)], 0, Lsn(300))
    assert batch is not None
    assert (batch.reason, batch.position, at) == (Reason.END, Lsn(300), 3)


def test_a_message_outside_of_transactions_belongs_to_the_range_of_its_position() -> None:
    messages = [of.message("app", b"", transactional=False, lsn=lsn) for lsn in (199, 200)]
    batch, at = decoder().decode(messages, 0, Lsn(200))
    assert batch is not None
    assert (batch.reason, at, len(batch.messages)) == (Reason.END, 1, 1)


def test_a_keepalive_moves_the_position_only_between_transactions() -> None:
    made = decoder()
    made.decode([of.keepalive(90), of.begin(100), of.keepalive(500, reply=True)], 0, Lsn(400))
    assert (made.position, made.in_transaction, made.reply_requested) == (Lsn(90), True, True)
    made.decode([of.commit(100, 150), of.keepalive(120)], 0, None)
    assert (made.position, made.in_transaction) == (Lsn(150), False)


def test_truncation_ends_a_batch_and_messages_and_origins_are_kept() -> None:
    first, second = decode(
        [
            of.message("app", b"\0x", transactional=False),
            *transaction(
                of.origin(5, "upstream"),
                table(),
                of.insert(T, ["1", None, None]),
                of.message("app", b"in"),
                of.truncate([T], 3),
                of.insert(T, ["2", None, None]),
            ),
        ]
    )
    assert first.reason is Reason.TRUNCATION
    assert first.truncation is not None
    assert [str(each) for each in first.truncation.tables] == ["shop.t"]
    assert (first.truncation.cascade, first.truncation.restart_identity) == (True, True)
    assert [(each.number, each.message.content, each.transaction is None) for each in first.messages] == [
        (0, b"\0x", True),
        (1, b"in", False),
    ]
    assert first.transactions[0].origin is not None
    assert first.transactions[0].origin.name == "upstream"
    assert rows([first]) == [("+I", 1, None, None)]
    assert rows([second]) == [("+I", 2, None, None)]


def test_time_of_a_commit() -> None:
    (batch,) = decode([of.begin(100, time=86_400_000_001), of.commit(100, 150)])
    assert batch.transactions[0].time == datetime(2000, 1, 2, 0, 0, 0, 1, tzinfo=UTC)


def test_values_that_rows_cannot_represent_have_messages() -> None:
    columns = [of.Column("id", INT8, key=True), of.Column("n", NUMERIC, (8 << 16 | 2) + 4), of.Column("d", 1082)]
    (batch,) = decode(
        transaction(
            table(columns),
            of.insert(T, ["1", "NaN", "infinity"]),
            of.insert(T, ["2", "-1.5", "0044-03-15 BC"]),
            of.insert(T, ["3", "2.00", "10000-01-01"]),
            of.insert(T, ["4", None, "2024-02-29"]),
        )
    )
    (change,) = batch.changes
    assert change.rows.column(1).to_pylist() == [None, Decimal("-1.50"), Decimal("2.00"), None]
    assert change.rows.column(2).is_null().to_pylist() == [True, True, True, False]
    assert {number: str(each) for number, each in change.misfits.items()} == {
        0: "column 'n': 'NaN' does not fit: it is not a finite number",
        1: f"column 'd': '0044-03-15 BC' {BEYOND}",
        2: f"column 'd': '10000-01-01' {BEYOND}",
    }


BROKEN: list[tuple[str, bytes, str]] = [
    ("count", of.insert(T, ["1", None]), "2 columns instead of 3"),
    ("relation", of.insert(9, ["1", None, None]), "the relation 9, which no earlier message describes"),
    ("state", of.insert(T, ["1", None, None])[:-1] + b"x", "unknown state 'x'"),
    ("binary", of.data(b"I" + T.to_bytes(4, "big") + b"N\0\3b\0\0\0\1xnn"), "binary form"),
    ("longer", of.data(b"I" + T.to_bytes(4, "big") + b"N\0\3t\xff\xff\xff\xff1nn"), "longer than its message"),
    ("rest", of.insert(T, ["1", None, None]) + b"n", "has extra bytes after its row"),
    (
        "marker",
        of.data(b"D" + T.to_bytes(4, "big") + b"N" + of.row(["1", None, None])),
        "of the kind 'D' starts with the unexpected byte 'N'",
    ),
    ("no new row", of.data(b"U" + T.to_bytes(4, "big") + b"O" + of.row(["1", "a", "b"])), "contains no new row"),
    ("integer", of.insert(T, ["1x", None, None]), r"shop.t, column id \(bigint\)"),
    ("UTF-8", of.insert(T, ["1", b"\xff", None]), "is not UTF-8"),
    ("not ASCII", of.insert(T, ["\u0661", None, None]), "characters that its type does not allow"),
    ("begin", of.begin(200), "before another one has ended"),
    ("kind", of.data(b"S1234"), "message type 'S'"),
    ("truncation", of.truncate([9]), "the relation 9, which no earlier message describes"),
    ("commit", of.commit(101, 150), "COMMIT message of transaction .* do not match its BEGIN message"),
]


@pytest.mark.parametrize(("broken", "said"), [each[1:] for each in BROKEN], ids=[each[0] for each in BROKEN])
def test_broken_messages_are_named(broken: bytes, said: str) -> None:
    with pytest.raises(LogError, match=said):
        decode([of.begin(100), table(), of.insert(T, ["0", "a", "b"]), broken])


def test_rows_outside_of_transactions_are_refused() -> None:
    with pytest.raises(MalformedLogError, match="does not belong to a transaction"):
        decode([table(), of.insert(T, ["1", None, None])])


def test_an_unknown_type_is_named() -> None:
    columns = [of.Column("id", INT8, key=True), of.Column("mood", 99_999)]
    with pytest.raises(
        UnsupportedLogError, match=r"column mood of shop.t: the type with the oid 99999 has been dropped"
    ):
        decode(transaction(table(columns)))
    found = decode(transaction(of.type_name(99_999, "shop", "mood"), table(columns), of.insert(T, ["1", "glad"])))
    assert rows(found) == [("+I", 1, "glad")]


# -- random rows

_TEXTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=90)
_KINDS: dict[int, Any] = {
    INT8: st.integers(-(2**63), 2**63 - 1),
    TEXT: _TEXTS,
    BYTEA: st.binary(max_size=90),
    FLOAT8: st.floats(allow_nan=False),
    TEXTS: st.lists(st.none() | _TEXTS, max_size=4),
}


def literal(kind: int, value: Any) -> of.Value:
    """Return a value as the server writes it; arrays as ``array_out`` does."""
    if value is None or value is ...:
        return value
    if kind == BYTEA:
        return "\\x" + value.hex()
    if kind == TEXTS:
        return "{" + ",".join("NULL" if each is None else _element(each) for each in value) + "}"
    return str(value).replace("inf", "Infinity") if kind == FLOAT8 else str(value)


def _element(text: str) -> str:
    plain = text and text.upper() != "NULL" and not set(text) & set('"\\{}, \t\n\r\v\f')
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[tuple[str, list[Any], list[Any]]]]:
    kinds = [INT8, *draw(st.lists(st.sampled_from(sorted(_KINDS)), max_size=5))]
    row = st.tuples(*(st.none() | _KINDS[kind] for kind in kinds)).map(list)
    changed = st.tuples(st.sampled_from("IUFD"), row, row)
    return kinds, draw(st.lists(changed, min_size=1, max_size=20))


@given(tables(), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_random_rows_return_as_they_were(
    made: tuple[list[int], list[tuple[str, list[Any], list[Any]]]], size: int
) -> None:
    kinds, changed = made
    columns = [of.Column(f"c{number}", kind, key=True) for number, kind in enumerate(kinds)]
    messages, expected = [table(columns, "f")], list[tuple[Any, ...]]()
    for kind, old, new in changed:
        before = [literal(each, value) for each, value in zip(kinds, old, strict=True)]
        after = [literal(each, value) for each, value in zip(kinds, new, strict=True)]
        written = {
            "I": (of.insert(T, after), [("+I", *new)]),
            "U": (of.update(T, after), [("+U", *new)]),
            "F": (of.update(T, after, before), [("-U", *old), ("+U", *new)]),
            "D": (of.delete(T, before), [("-D", *old)]),
        }[kind]
        messages.append(written[0])
        expected += written[1]
    assert rows(decode(transaction(*messages), batch_rows=size)) == expected


@given(tables(), st.data())
@settings(max_examples=60, deadline=None)
def test_truncated_messages_are_errors_of_the_log(
    made: tuple[list[int], list[tuple[str, list[Any], list[Any]]]], data: st.DataObject
) -> None:
    """No truncated message returns a row."""
    kinds, ((_, old, new), *_) = made
    columns = [of.Column(f"c{number}", kind, key=True) for number, kind in enumerate(kinds)]
    after = [literal(each, value) for each, value in zip(kinds, new, strict=True)]
    before = [literal(each, value) for each, value in zip(kinds, old, strict=True)]
    whole = data.draw(
        st.sampled_from(
            [of.insert(T, after), of.update(T, after, before), of.delete(T, before), table(columns), of.begin(9),
             of.truncate([T]), of.commit(100, 150), of.type_name(1, "a", "b"), of.message("a", b"b")]
        )
    )  # fmt: skip
    cut = data.draw(st.integers(26, len(whole) - 1))
    valid = of.insert(T, after)
    with pytest.raises(LogError):
        decode([of.begin(100), table(columns), valid, whole[:cut], of.commit(100, 150)])


def test_a_table_without_columns_has_rows() -> None:
    (batch,) = decode(transaction(table([]), of.insert(T, []), of.insert(T, [])))
    assert batch.rows == 2
    assert batch.changes[0].rows.schema == pa.schema([])
