"""A transform that needs times or positions of changes is rejected after sources that have none."""

import pytest

from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import JobError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from tests.planning.test_lost_input import ENGINE

FAKE = "FakeSource { row.num = 1, schema { fields { id = bigint } } }"
CDC = """MySQL-CDC {{
    url = "jdbc:mysql://h/shop", username = "u", password = "p", table-names = ["shop.a"]{more}
}}"""


def plan(source: str, metadata: str, *, before: str = "", after: str = "") -> None:
    transforms = f"  {before}Metadata {{ {metadata} }}{after}"
    text = f"env {{ job.mode = STREAMING }}\nsource {{ {source} }}\ntransform {{\n{transforms}\n}}\n"
    problems = Problems()
    job = read_job(
        parse(f"{text}sink {{ Console {{ }} }}", "job.conf", Variables({}, {}), problems), "job.conf", problems
    )
    plan_job(job, lookup, ENGINE, reads_input=False)


@pytest.mark.parametrize("key", ["EventTime", "Position"])
def test_a_source_without_a_log_is_rejected_with_the_place_of_the_transform(key: str) -> None:
    message = (
        r"job\.conf:4:3: the transform 'Metadata.*' needs .* the rows of the source 'FakeSource.*' contain neither"
    )
    with pytest.raises(JobError, match=message):
        plan(FAKE, f"metadata_fields {{ {key} = x }}")


def test_an_entry_for_a_table_is_rejected_too() -> None:
    entry = "table_transform = [{ table_path = default, metadata_fields { Position = x } }]"
    with pytest.raises(JobError, match=r"the transform 'Metadata-.*' needs the time or position"):
        plan(FAKE, entry)


def test_messages_of_a_log_are_rejected() -> None:
    with pytest.raises(JobError, match=r"Only change data sources that emit table rows \(not encoded messages\)"):
        plan(CDC.format(more=", format = COMPATIBLE_DEBEZIUM_JSON"), "metadata_fields { EventTime = x }")


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ('Sql { query = "SELECT id FROM t" }, ', "Sql"),
        ('Sql { query = "SELECT id FROM t" }, Copy { fields { id = more } }, ', "Sql"),
        ('Python { function = "builtins:iter" }, ', "Python"),
        ('Sql { table_transform = [{ table_path = "shop.a", query = "SELECT id FROM t" }] }, ', "Sql"),
    ],
)
def test_transforms_that_compute_new_rows_are_rejected_before_it(before: str, name: str) -> None:
    message = rf"job\.conf:6:.* the preceding transform '{name}.*' returns rows without them"
    with pytest.raises(JobError, match=message):
        plan(CDC.format(more=""), "metadata_fields { EventTime = x }", before=before)
    plan(CDC.format(more=""), "metadata_fields { Table = x }", before=before)


def test_transforms_that_compute_new_rows_are_accepted_after_it() -> None:
    after = ', Sql { query = "SELECT id FROM t" }'
    before = "Copy { fields { id = more } }, "
    plan(CDC.format(more=""), "metadata_fields { EventTime = x }", before=before, after=after)


def test_rows_of_a_log_and_other_metadata_are_accepted() -> None:
    plan(CDC.format(more=""), "metadata_fields { EventTime = x, Position = y }")
    plan(FAKE, "metadata_fields { Table = x }")
