"""The sink ``LocalFile`` with several tables: where each goes, and what is refused."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.config.document import CODE, Scalar
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables, filled_scalar
from seatunnel_core.connector_api.testing import commit
from seatunnel_core.connector_api.testing.drive import place, shipped, sink_place, through_json
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.staging.table_names import table_folder, table_name_in
from seatunnel_core.errors import SinkError, UsageError
from seatunnel_core.rows.batch import Batch, ConstraintKey, TableSchema
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction
from tests.connectors.file import local_files

ORDERS = TableSchema(
    table="shop.public.orders",
    columns=pa.schema([("id", pa.int64()), ("city", pa.string())]),
    primary_key=("id", "city"),
    constraint_keys=(
        ConstraintKey(name="k", kind="KEY", columns=("id",)),
        ConstraintKey(name="u", kind="UNIQUE_KEY", columns=("city",)),
    ),
    comment="from the till / 1",
)
PEOPLE = TableSchema(table="shop.people", columns=pa.schema([("name", pa.string())]))


sink = partial(local_files.sink, file_format_type="json")


def stage(made: LocalFileSink, rows: Sequence[tuple[TableSchema, list[dict[str, Any]]]], unit: int = 1) -> Committable:
    """The rows of some tables, as one unit."""
    schemas = list({schema.table: schema for schema, _ in rows}.values())
    made.check_schemas(schemas)
    made.create_tables(schemas, sink_place(place()))
    writer = shipped(made).open_writer(schemas, place(unit=unit))
    for schema, values in rows:
        writer.write(Batch(table=schema.table, rows=pa.RecordBatch.from_pylist(values, schema.columns)))
    staged = writer.finish()
    body = through_json(dict(staged.body))
    return Committable(id=f"0-1-{unit}", epoch=1, unit=unit, source="s", rows=staged.rows, bytes=1, body=body)


def content(folder: Path) -> dict[str, str]:
    """The text of all published files, by folder."""
    found: dict[str, str] = {}
    for file in sorted(each for each in folder.rglob("*") if each.is_file() and ".seatunnel" not in str(each)):
        where = str(file.parent.relative_to(folder))
        found[where] = found.get(where, "") + file.read_text()
    return found


MIXED: list[tuple[TableSchema, list[dict[str, Any]]]] = [
    (ORDERS, [{"id": 1, "city": "Rome"}]),
    (PEOPLE, [{"name": "Ada"}]),
    (ORDERS, [{"id": 2, "city": "Oslo"}]),
]


@pytest.mark.parametrize(
    ("template", "orders", "people"),
    [
        ("${database_name}/${schema_name}/${table_name}", "shop/public/orders", "shop/people"),
        ("${schema_name:none}_${table_name}", "public_orders", "none_people"),
        ("${schema_full_name}/x_${table_full_name}", "shop.public/x_shop.public.orders", "shop/x_shop.people"),
        ("${primary_key}/${unique_key}/${field_names}", "id,city/city/id,city", "name"),
        ("${comment}/x", "from the till %2F 1/x", "x"),
        ("${schema_name}.${table_name}", "public.orders", "%2Epeople"),
        ("a/${schema_name}..", "a/public..", "a/%2E."),
    ],
)
def test_each_table_has_its_folder(template: str, orders: str, people: str) -> None:
    assert table_folder(template, ORDERS) == orders
    assert table_folder(template, PEOPLE) == people


@pytest.mark.parametrize("table", ["..", "a/../..", "/etc", ".seatunnel", "x\0y", "${now}", "a.b/..", "%2e"])
def test_no_table_leads_out_of_the_target_or_hides(table: str) -> None:
    schema = evolve(PEOPLE, table=table)
    for part in filter(None, table_folder("${database_name}/${table_name}", schema).split("/")):
        assert part not in (".", "..")
        assert not part.startswith(".")
        assert not set("/\0{") & set(part)
    assert not set("/\0{") & set(table_name_in("${table_full_name}", schema))
    assert not table_folder("${table_full_name}", schema).startswith(("/", "."))


def test_variables_of_tables_stay_until_the_sink_fills_them_in() -> None:
    text = "/out/${schema_name:public}/${table_name}"
    assert filled_scalar(Scalar(text, text, CODE), Variables({}, {}), Problems()).text == text


def test_tables_go_their_ways_and_are_published_swept_and_taken_back(tmp_path: Path) -> None:
    made = sink(f"{tmp_path}/${{database_name}}/${{table_name}}", file_name_expression="${transactionId}_${table_name}")
    assert made.target_folder == str(tmp_path)
    first, second, third = (stage(made, MIXED, unit) for unit in (1, 2, 3))
    assert content(tmp_path) == {}
    assert made.sweep(sink_place(place(epoch=2)), frozenset({first.id, second.id}), final=False) == 2
    assert third.rows == 3
    for again in (False, True):
        commit(made, [first, second], place(), may_be_committed=again)
    lines = '{"id":1,"city":"Rome"}\n{"id":2,"city":"Oslo"}\n'
    assert content(tmp_path) == {"shop/orders": 2 * lines, "shop/people": 2 * '{"name":"Ada"}\n'}
    assert all(name.name.endswith("_orders.json") for name in (tmp_path / "shop/orders").iterdir())
    back = Retraction(epoch=2, base_epoch=1, next_units={0: 2}, in_flight={}, named=frozenset())
    assert made.roll_back(sink_place(place(epoch=2)), back) == 2
    assert content(tmp_path) == {"shop/orders": lines, "shop/people": '{"name":"Ada"}\n'}
    made.clear(sink_place(place(epoch=2)))
    assert sorted(os.listdir(tmp_path)) == ["shop"]


def test_partitions_lie_in_the_folder_of_their_table(tmp_path: Path) -> None:
    made = sink(f"{tmp_path}/${{table_name}}", partition_by=["city"])
    commit(made, [stage(made, MIXED[:1])], place())
    assert content(tmp_path) == {"orders/city=Rome": '{"id":1}\n'}


def test_tables_of_the_same_columns_may_share_a_folder(tmp_path: Path) -> None:
    made = sink(str(tmp_path))
    commit(made, [stage(made, [(PEOPLE, [{"name": "Ada"}]), (evolve(PEOPLE, table="b"), [{"name": "Bob"}])])], place())
    assert content(tmp_path) == {".": '{"name":"Ada"}\n{"name":"Bob"}\n'}


def test_other_tables_in_one_folder_are_refused_before_data_moves(tmp_path: Path) -> None:
    message = (
        r"the tables shop\.public\.orders and shop\.people would be written to one folder, shop, .*\(id bigint, city"
    )
    with pytest.raises(SinkError, match="would be written to one folder, the target folder, with different columns"):
        sink(str(tmp_path)).check_schemas([ORDERS, PEOPLE])
    of_two_sources = sink(f"{tmp_path}/${{database_name}}")
    of_two_sources.create_tables([ORDERS], sink_place(place()))
    of_two_sources.create_tables([ORDERS], sink_place(place()))
    with pytest.raises(SinkError, match=message):
        of_two_sources.create_tables([PEOPLE], sink_place(place()))
    sink(str(tmp_path), sink_columns=["id"]).check_schemas([ORDERS, evolve(ORDERS, table="b")])
    named = sink(str(tmp_path), file_name_expression="${table_name}")
    named.check_schemas([ORDERS, PEOPLE])
    with pytest.raises(SinkError, match="would have a name of 300 bytes"):
        sink(f"{tmp_path}/${{table_name}}").check_schemas([evolve(PEOPLE, table="x" * 300)])


def test_a_table_before_the_id_would_hide_whose_file_it_is(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r'write \$\{table_name\} after \$\{transactionId\}, such as "\$\{transactionId\}_\$\{table_name\}"',
    ):
        sink(str(tmp_path), file_name_expression="${table_name}_${transactionId}")
    with pytest.raises(UsageError, match="contains the variable"):
        sink(str(tmp_path), file_name_expression="${table}")


def test_only_the_folders_of_tables_are_emptied(tmp_path: Path) -> None:
    for name in ("out_a/old", "out_a/deep/old", "out_b/old", "other/stays", "out_file"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    made = sink(f"{tmp_path}/out_${{table_name}}", data_save_mode="DROP_DATA")
    assert made.save_mode is not None
    assert made.save_mode.emptied_folder == str(tmp_path)
    made.apply_save_mode(sink_place(place()))
    assert sorted(os.listdir(tmp_path / "out_a") + os.listdir(tmp_path / "out_b")) == []
    assert content(tmp_path) == {"other": "x", ".": "x"}
    strict = sink(f"{tmp_path}/${{database_name}}/${{table_name}}", data_save_mode="ERROR_WHEN_DATA_EXISTS")
    strict.apply_save_mode(sink_place(place()))
    (tmp_path / "other/deep").mkdir()
    (tmp_path / "other/deep/new").write_text("x")
    with pytest.raises(SinkError, match="contains 'new'"):
        strict.apply_save_mode(sink_place(place()))
