"""Choice and masks of columns, without a server."""

import json
import pickle
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data import options as opt
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.change_data.emission import Emission
from seatunnel_core.connectors.change_data.log_order import LoggedRows, LogOrder
from seatunnel_core.connectors.change_data.masks import Asterisks, SaltedHash, Truncation
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.jdbc.fetched import Fetched, Misfit
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.driven import Reports
from tests.connectors.mysql_cdc.tables import table

PATH = ("shop", "people")
NO_SCHEMAS = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}


def options(form: str = "DEFAULT", *columns: str, **debezium: str) -> Options:
    entry = Options({"table": "people", "columns": columns}, opt.TABLE_CONFIG.type.entries)
    given = {name.replace("__", "."): value for name, value in debezium.items()}
    return Options(
        {"format": form, "debezium": given, "table-names-config": (entry,)}, (*opt.ROWS, opt.TABLE_CONFIG)
    )  # fmt: skip


def rules(*columns: str, **debezium: str) -> ColumnRules:
    return ColumnRules.of(options("DEFAULT", *columns, **debezium))


def people() -> Found:
    """A table with the key ``id``, the integer ``a`` and the text ``name``."""
    found = table("people")
    return evolve(found, columns=(*found.columns, column_of("name", "varchar(20)")))


def require_valid(which: ColumnRules) -> None:
    which.require_matched([people()])
    which.require_valid([people()])


def selected(which: ColumnRules) -> list[str]:
    return [column.name for column in which.selection(people()).columns]


def test_columns_are_selected_by_lists_and_patterns() -> None:
    assert selected(rules()) == ["id", "a", "name"]
    assert selected(rules("name", "id")) == ["id", "name"]
    assert selected(rules(column__include__list=r"shop\.people\.id, SHOP\.people\.n.*")) == ["id", "name"]
    assert selected(rules(column__exclude__list=r".*\.people\.(a|b{1\,2})")) == ["id", "name"]
    assert selected(rules("id", "a", column__exclude__list="shop.people.a")) == ["id"]
    assert selected(rules(column__exclude__list="shop.people")) == ["id", "a", "name"]
    assert not rules().restricts(PATH)
    assert rules("id").restricts(PATH)
    assert not rules("id").restricts(("shop", "orders"))
    assert rules("id").selects(("shop", "orders"), "a")


def test_a_key_is_selected() -> None:
    with pytest.raises(SourceError, match=r"shop\.people: the column id is part of the key and is not selected"):
        selected(rules("a"))
    with pytest.raises(SourceError, match=r"option 'columns'.*no column 'nam'; did you mean name"):
        selected(rules("id", "nam"))


@pytest.mark.parametrize(
    ("debezium", "said"),
    [
        ({"column__include__list": "a", "column__exclude__list": "b"}, "only one of them"),
        ({"column__include__list": "("}, "is not a regular expression"),
        ({"column__mask__hash__SHA-256__with__salt__pepper": "a"}, r"hash\.SHA-256\.with\.salt\.\*\*\* is not"),
        ({"column__mask__hash__v2__MD5__with__salt__pepper": "a"}, r"MD5\.with\.salt\.\*\*\* is not supported"),
        ({"column__mask__hash__v2__SHA-256__with__salt__pepper": "("}, r"salt\.\*\*\* = '\(' is not a regular"),
        ({"column__blacklist": "a"}, r"column\.blacklist is not supported"),
        ({"column__truncate__to__x__chars": "a"}, "is not supported"),
        ({"column__truncate__to__3__chars": " , "}, "is empty"),
        ({"column__include__list": ","}, "column.include.list is empty"),
        ({"column__mask__hash__v2__sha256__WITH__SALT__pepper": "("}, r"SALT\.\*\*\* = '\(' is not a regular"),
    ],
)
def test_rejected_properties(debezium: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        rules(**debezium)
    assert "pepper" not in str(raised.value)


@pytest.mark.parametrize(
    ("debezium", "said"),
    [
        (
            {"column__mask__with__3__chars": ".*id"},
            r"column id \(int\): column.mask.with.3.chars applies to a key column",
        ),
        (
            {"column__mask__with__3__chars": ".*nam"},
            r"'\.\*nam' of column.mask.* matches no selected column",
        ),
        ({"column__mask__with__3__chars": ".*name, .*fone"}, r"'\.\*fone' of .* matches no selected column"),
        (
            {
                "column__mask__hash__v2__SHA-256__with__salt__a": ".*name",
                "column__mask__hash__v2__SHA-256__with__salt__b": ".*fone",
            },
            r"'\.\*fone' of column.mask.hash.v2.SHA-256.with.salt.\*\*\* matches no selected column",
        ),
        ({"column__exclude__list": ".*name, .*fone"}, r"'\.\*fone' of column.exclude.list matches no column"),
        ({"column__include__list": ".*id, .*fone"}, r"'\.\*fone' of column.include.list matches no column"),
        ({"column__truncate__to__3__chars": ".*a"}, "only strings can be truncated"),
        ({"column__truncate__to__3__chars": ".*name", "column__mask__with__3__chars": ".*name"}, "both apply"),
    ],
)
def test_masks_that_cannot_be_applied(debezium: dict[str, str], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        require_valid(rules(**debezium))
    assert Emission.of(options(), "mysql").require_supported([people()]) is None


def test_a_renamed_column_may_not_lose_its_mask() -> None:
    masked = rules(column__mask__with__3__chars=r".*\.(name|mail)")
    found = people()
    masked.require_masks_kept(found, ["id", "a"])
    masked.require_masks_kept(found, [*found.schema().columns.names, "mail"])
    masked.require_masks_kept(found, ["id", "mail", "a"])  # name has a mask, too
    rules().require_masks_kept(found, ["id", "mail"])
    with pytest.raises(SourceChangedError, match=r"the column mail of shop\.people, which has a mask, .* and a, which"):
        masked.require_masks_kept(found, ["id", "mail", "name"])


def test_a_selected_column_may_be_renamed_together_with_the_list() -> None:
    """A list may not contain the former name, because no such column exists."""
    found = people()
    rules("id", "a", "name").require_masks_kept(found, ["id", "a", "title"], {"name": "title"})
    with pytest.raises(SourceChangedError, match=r"title of shop\.people, which is not selected, was renamed to name"):
        rules("id", "a", "name").require_masks_kept(found, ["id", "a"], {"name": "title"})
    masked = rules("id", "a", "name", column__mask__with__3__chars=".*title")
    with pytest.raises(SourceChangedError, match=r"title of shop\.people, which has a mask, was renamed to name"):
        masked.require_masks_kept(found, ["id", "a", "title"], {"name": "title"})


def test_a_salt_is_not_shown() -> None:
    given = options("DEFAULT", **{"column__mask__hash__v2__SHA-256__with__salt__pepper": ".*name"})
    emission = Emission.of(given, "mysql")
    assert "pepper" not in repr(given) + repr(emission) + str(emission.rules.recorded(people()))
    assert "pepper" not in str(emission.rules.masks)
    assert pickle.loads(pickle.dumps(emission)).rules == emission.rules
    assert emission.notes == ()


def test_a_pattern_of_columns_that_are_not_selected_is_matched() -> None:
    """The tables have only their selected columns."""
    which = rules(column__exclude__list=".*name", column__mask__with__3__chars=".*a")
    found = evolve(people(), table=DatabaseTable(columns=people().columns, primary_key=("id",)))
    which.require_matched([which.selection(found)])
    which = rules(column__exclude__list=".*name", column__mask__with__3__chars=".*name")
    with pytest.raises(SourceError, match="matches no selected column"):
        which.require_matched([which.selection(found)])


def test_recorded_masks_do_not_depend_on_columns() -> None:
    which = rules(column__mask__with__3__chars=".*name, .*more")
    fewer = evolve(people(), columns=people().columns[:2])
    assert which.recorded(fewer) == which.recorded(people()) == {"column.mask.with.3.chars": ".*name, .*more"}
    assert which.recorded_by_column(people()) == {"name": "column.mask.with.3.chars"}
    assert which.recorded_by_column(fewer) == {}


def test_a_masked_value_is_not_shown_in_messages() -> None:
    which = rules(column__mask__with__3__chars=".*name")
    rows = pa.RecordBatch.from_pylist([{"id": 1}], people().schema().columns)
    fetched = Fetched(rows=rows, misfits={0: Misfit({"name": "'secret' does not fit", "a": "'5' does not fit"})})
    message = str(which.kept_rows(fetched, people()).misfits[0])
    assert "column 'name'" in message
    assert "the column is masked" in message
    assert "secret" not in message


def test_a_changed_mask_is_recognized() -> None:
    masks = ("with__3__chars", "with__4__chars", "hash__v2__SHA-256__with__salt__a", "hash__v2__SHA-256__with__salt__b")
    recorded = {json.dumps(rules(**{f"column__mask__{name}": ".*name"}).recorded(people())) for name in masks}
    assert len(recorded) == len(masks)


def test_masked_values() -> None:
    texts = pa.array(["日本🐘 ä", "", None])
    assert Asterisks(2).applied(texts).to_pylist() == ["**", "**", None]
    assert Truncation(3).applied(texts).to_pylist() == ["日本🐘", "", None]
    assert Truncation(0).applied(texts).to_pylist() == ["", "", None]
    hashes = [sha256(f"s{value}".encode()).hexdigest() for value in ("日本🐘 ä", "")]
    assert SaltedHash("s").applied(texts).to_pylist() == [*hashes, None]
    numbers = pa.array([-1, None], pa.int64())
    assert SaltedHash("s").applied(numbers).to_pylist() == [sha256(b"s-1").hexdigest(), None]
    assert Asterisks(1).applied(numbers).type == pa.string()


def changed(form: str) -> list[dict[str, Any]]:
    """Return emitted rows of a table whose columns ``a`` and ``name`` are masked."""
    debezium = {**NO_SCHEMAS, "column.mask.with.2.chars": ".*a", "column.truncate.to.1.chars": ".*name"}
    emission, found = Emission.of(options(form, **debezium), "mysql"), people()
    emission.require_supported([found])
    rows = pa.RecordBatch.from_pylist([{"id": 1, "a": 5, "name": "Ada"}], found.schema().columns)
    batch = Batch(table="shop.people", rows=rows, kinds=pa.array([int(RowKind.DELETE)], pa.int8()))
    where = {"db": "shop", "table": "people", "file": "f", "pos": 4}
    number = np.zeros(1, np.int64)
    logged = LoggedRows(
        batch=batch, found=found, events=number, transactions=number, where=lambda: [{"ts_ms": 1, **where}]
    )
    log = list(emission.changes([logged], LogOrder(Reports())))
    chunk = list(emission.chunk(iter([evolve(batch, kinds=None)]), found, where))
    (schema,) = emission.schemas([found])
    assert all(each.rows.schema.equals(schema.columns) for each in (*log, *chunk))
    return [row for each in (*log, *chunk) for row in each.rows.to_pylist()]


def test_rows_are_emitted_with_masks() -> None:
    masked = {"id": 1, "a": "**", "name": "A"}
    assert changed("DEFAULT") == [masked, masked]
    deleted, read = (json.loads(each["value"]) for each in changed("COMPATIBLE_DEBEZIUM_JSON"))
    assert (deleted["before"], read["after"]) == (masked, masked)
