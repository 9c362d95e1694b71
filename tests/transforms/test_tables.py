"""``table_match_regex`` and ``table_transform``, which every transform understands without knowing it."""

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.testing.drive import shipped
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import TableSchema
from tests.transforms.tables import PEOPLE, batch_of

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))

TABLES = """
source { FakeSource {
  schema { fields { id = bigint, name = string, age = int } }
  table-names = [test.abc, test.abcd, test.xyz, test.xyzxyz, test.www]
} }
"""

COPIES = """
transform { Copy {
  table_match_regex = "test.a.*"
  src_field = name
  dest_field = name1
  table_transform = [
    { table_path = test.xyz, src_field = name, dest_field = name2 }
    { table_path = test.xyzxyz, fields { name3 = name, age3 = age } }
  ]
} }
"""


def job(
    transforms: str, source: str = TABLES, sink: str = "sink { Console { multi_table_sink_replica = 2 } }"
) -> PlannedJob:
    problems = Problems()
    text = f"{source}\n{transforms}\n{sink}"
    return plan_job(
        read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems),
        lookup,
        ENGINE,
        look=True,
    )


def transform(text: str) -> Transform:
    """As it arrives in a task."""
    (planned,) = job(text).pipelines[0].transforms
    assert isinstance(planned.transform, Transform)
    return shipped(planned.transform)


def after(changing: Transform, table: str) -> list[str]:
    """The columns of a table behind the transform, which its rows must have, too."""
    schema: TableSchema = evolve(PEOPLE, table=table)
    columns = changing.output_schema(schema).columns
    (batch,) = changing.apply(batch_of([(1, "Ada", 36)], schema))
    assert batch.rows.schema.equals(columns)
    return columns.names[3:]


def test_the_example_of_seatunnels_page() -> None:
    changing = transform(COPIES)
    assert after(changing, "test.abc") == after(changing, "test.abcd") == ["name1"]
    assert after(changing, "test.xyz") == ["name2"]
    assert after(changing, "test.xyzxyz") == ["name3", "age3"]
    assert after(changing, "test.www") == []


def test_entries_take_the_names_of_seatunnels_earlier_pages() -> None:
    """``tablePath`` and ``fieldMapper``, which SeaTunnel reads in entries, were unknown: the job was refused."""
    changing = transform(
        "transform { FieldMapper { table_transform = [ { tablePath = a, fieldMapper { name = n, age = a } } ] } }"
    )
    schema = evolve(PEOPLE, table="a")
    assert changing.output_schema(schema).columns.names == ["n", "a"]


def test_the_whole_name_of_a_table_must_match() -> None:
    changing = transform("transform { Copy { table_match_regex = abc, src_field = name, dest_field = b } }")
    assert after(changing, "test.abc") == []
    assert after(changing, "abc") == ["b"]


def test_entries_alone_leave_the_other_tables_as_they_are() -> None:
    changing = transform("transform { Split { table_transform = [ { table_path = a, separator = x, split_field = name, "
                         "output_fields = [p] } ] } }")  # fmt: skip
    assert after(changing, "a") == ["p"]
    assert after(changing, "b") == []


@pytest.mark.parametrize(("mode", "names"), [("ALL_MATCH", ["b", "c"]), ("FIRST_MATCH", ["b"])])
def test_several_entries_for_one_table(mode: str, names: list[str]) -> None:
    """The second entry needs what the first one gives, so both are used, or the second is not looked at."""
    entries = [
        f"{{ table_path = a, src_field = {old}, dest_field = {new} }}" for old, new in (("name", "b"), ("b", "c"))
    ]
    changing = transform(
        f"transform {{ Copy {{ rule_match_mode = {mode}, table_transform = [ {', '.join(entries)} ] }} }}"
    )
    assert after(changing, "a") == names
    assert after(changing, "b") == []


def test_a_check_shows_each_table_after_each_transform() -> None:
    shown = check_report(job(COPIES), ENGINE)
    assert "    test.abc: id bigint, name string, age int, name1 string\n" in shown
    assert "    test.xyzxyz: id bigint, name string, age int, name3 string, age3 int\n" in shown
    assert shown.count("    test.www: id bigint, name string, age int\n") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('Copy { table_match_regex = "[", src_field = name, dest_field = b }', "'\\[' is not a regular expression"),
        ("Copy { table_transform = [ { src_field = a } ] }", "entry 1 of table_transform .* needs the option 'table_p"),
        ("Copy { table_transform = [ { table_path = a, src_field = a } ] }", "'table_transform', entry 1: set fields"),
        (
            "Copy { table_transform = [ { table_path = a, fields {b = c} }, { table_path = a, fields {b = c} } ] }",
            "two entries have the table_path 'a'",
        ),
        (
            "Split { separator = x, table_transform = [ { table_path = a, separator = x, split_field = name, "
            "output_fields = [p] } ] }",
            "option 'split_field' is required for tables without an entry",
        ),
        ("Split { table_match_regex = a }", "needs the option 'separator'"),
        ('SparkSql { query = "select 1", table_match_regex = a }', "SparkSql runs on Spark, which processes one table"),
        (
            'SparkSql { table_transform = [ { table_path = a, query = "select 1" } ] }',
            "option 'table_transform': SparkSql runs on Spark",
        ),
    ],
)
def test_what_does_not_go_together(text: str, message: str) -> None:
    with pytest.raises(SeaTunnelError, match=message):
        job(f"transform {{ {text} }}")


def test_what_spark_transforms_is_one_table_and_a_check_says_so() -> None:
    planned = job('transform { SparkSql { query = "select 1" } }')
    with pytest.raises(SeaTunnelError, match=r"accepts one table but receives 5: test\.abc, test\.abcd"):
        check_report(planned, ENGINE)


def test_options_of_every_transform_hold_for_its_entries() -> None:
    entry: Any = "{ table_path = a, field_rules = [ { field_name = age, rule_type = NOT_NULL } ] }"
    changing = transform(
        f"transform {{ DataValidator {{ row_error_handle_way = SKIP, table_transform = [ {entry} ] }} }}"
    )
    schema = evolve(PEOPLE, table="a")
    (batch,) = changing.apply(batch_of([(1, "Ada", None), (2, "Bob", 7)], schema))
    assert batch.rows.column("id").to_pylist() == [2]


def test_a_table_of_errors_comes_with_each_table_that_has_rules() -> None:
    """The entries send bad rows to one table of errors, which none of them takes for one of its own."""
    routed = transform(
        """
        transform { DataValidator {
          rule_match_mode = ALL_MATCH
          table_transform = [
            {
              table_path = test.abc, row_error_handle_way = ROUTE_TO_TABLE, error_table = errors
              field_rules = [ { field_name = name, rule_type = NOT_NULL } ]
            }
            {
              table_path = test.abc
              row_error_handle_way = ROUTE_TO_TABLE
              row_error_handle_way.error_table = errors
              field_rules = [ { field_name = age, rule_type = RANGE, min_value = 1 } ]
            }
          ]
        } }
        """
    )
    abc, www = (evolve(PEOPLE, table=name) for name in ("test.abc", "test.www"))
    assert {schema.table for schema in routed.output_schemas(abc)} == {"test.abc", "errors"}
    assert routed.output_schemas(www) == (www,)
    batch = evolve(batch_of([(1, None, 5), (2, "b", 0), (3, "c", 5)]), table="test.abc")
    came = [(after.table, after.rows.num_rows) for after in routed.apply(batch)]
    assert sorted(came) == [("errors", 1), ("errors", 1), ("test.abc", 1)]


RENAMED = """
transform { TableRename { replacements_with_regex = [ { replace_from = "^.*$", replace_to = all } ] } }
"""


TWO = """
source { FakeSource { tables_configs = [
  { schema { table = "test.abc", fields { id = int } } }
  { schema { table = "test.abcd", fields { id = int, name = string } } }
] } }
"""


def test_tables_of_one_name_have_the_same_columns_behind_a_rename(tmp_path: Path) -> None:
    """It was told that they would lie in one folder, with the advice to write what stood in the path already."""
    sink = f'sink {{ LocalFile {{ path = "{tmp_path}/${{table_name}}", file_format_type = json }} }}'
    assert "test.all: id bigint, name string, age int" in check_report(job(RENAMED, sink=sink), ENGINE)
    with pytest.raises(
        SeaTunnelError, match=r"receives table 'test\.all' .*different columns.*rename one of the tables"
    ):
        check_report(job(RENAMED, TWO, sink), ENGINE)
