"""The page about dlt and the source ``Dlt``, with resources of dlt itself."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

PAGE = "docs/guides/dlt.md"
RESOURCES = Path(__file__).with_name("resources_of_dlt.py")
pytestmark = [pytest.mark.torture, pytest.mark.timeout(600), pytest.mark.xdist_group("dlt")]


def begin(folder: Path, *command: str) -> "subprocess.Popen[str]":
    """Begin a command of Python in a folder from which it imports."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "DLT_TELEMETRY": "0",
        "RUNTIME__DLTHUB_TELEMETRY": "false",
    }
    pipe = subprocess.PIPE
    command = (sys.executable, *command)
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def run(folder: Path, *command: str, code: int = 0) -> str:
    """Return what a command of Python prints."""
    process = begin(folder, *command)
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == code, printed + errors
    return printed if code == 0 else printed + errors


def of_page(marked: str) -> str:
    page = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
    found = re.search(rf"<!-- {marked} -->\n```\w+\n(.*?)```", page, re.DOTALL)
    assert found is not None, marked
    return found[1]


def test_a_resource_is_rows_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(of_page("resource"))
    assert run(tmp_path, "job.py").splitlines()[-1:] == ["2"]
    assert pq.read_table(tmp_path / "output" / "cities").to_pylist() == [
        {"city": "Oslo", "inhabitants": 709_000},
        {"city": "Rome", "inhabitants": 2_746_000},
    ]


def test_a_resource_runs_in_the_tasks_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(of_page("shop"))
    (tmp_path / "shop.conf").write_text(of_page("shop job"))
    checked = run(tmp_path, "-m", "seatunnel_core.cli", "-c", "shop.conf", "--check")
    assert "exactly-once" in checked
    assert "write_disposition = merge of the resource has no effect" in checked
    for _ in range(2):  # the second night changes nothing, as it merges by the key that the resource has
        run(tmp_path, "-m", "seatunnel_core.cli", "-c", "shop.conf")
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        assert database.execute("SELECT id, to__city FROM orders ORDER BY id").fetchall() == [(1, "Oslo"), (2, "Rome")]


def test_a_job_that_is_killed_reads_the_resource_again_and_delivers_each_row_once(tmp_path: Path) -> None:
    shutil.copy(RESOURCES, tmp_path / "resources.py")
    (tmp_path / "slow.conf").write_text(f"""
        env {{ job.mode = BATCH, checkpoint.interval = 500 }}
        source {{ Dlt {{
            function = "resources:slow", arguments {{ path = "{tmp_path}/begun" }}, replayable = true
        }} }}
        sink {{ DuckDB {{ path = "slow.duckdb", table = "${{table_name}}" }} }}
    """)
    first = begin(tmp_path, "-m", "seatunnel_core.cli", "-c", "slow.conf", "--set-job-id", "7")
    try:
        deadline = time.monotonic() + 300
        while not (tmp_path / "begun").exists():
            assert first.poll() is None, first.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    run(tmp_path, "-m", "seatunnel_core.cli", "-c", "slow.conf", "-r", "7")
    with duckdb.connect(str(tmp_path / "slow.duckdb")) as database:
        found = database.execute("SELECT count(*), count(DISTINCT id), max(id) FROM slow").fetchone()
    assert found == (2000, 2000, 1999)


def test_state_that_dlt_would_keep_ends_the_job_before_any_row_is_committed(tmp_path: Path) -> None:
    """It is put there behind the last row, so nobody knows of it before."""
    shutil.copy(RESOURCES, tmp_path / "resources.py")
    (tmp_path / "remembers.conf").write_text("""
        env { job.mode = BATCH, job.retry.times = 0 }
        source { Dlt { function = "resources:remembers", schema_sample = 1, replayable = true } }
        sink { LocalFile { path = "out", file_format_type = json } }
    """)
    said = run(tmp_path, "-m", "seatunnel_core.cli", "-c", "remembers.conf", code=1)
    assert "resources:remembers: the resource keeps state in dlt" in said
    assert not list((tmp_path / "out").glob("*.json"))


ASK = """
import json, sys
from seatunnel_core.connectors.dlt_resource import DltSource
from seatunnel_core.connector_api.testing import options_of, plan, read
found = []
for options in json.load(open("cases.json")):
    try:
        source = DltSource(options_of(DltSource, options))
        source.planned_schemas()
        planned = plan(source)
        keys = {each.table: list(each.primary_key) for each in planned.schemas}
        rows = [str(row).replace("zoneinfo.ZoneInfo(key='UTC')", "<UTC>") for row in read(source, planned)]
        found.append([keys, sorted(rows), source.planned_reading()])
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
print(json.dumps(found))
"""


def asked(folder: Path, *cases: dict[str, Any]) -> list[Any]:
    shutil.copy(RESOURCES, folder / "resources.py")
    (folder / "raises.py").write_text("raise RuntimeError('on import')")
    (folder / ".dlt").mkdir()
    (folder / ".dlt" / "secrets.toml").write_text(
        "[sources.resources.guarded]\napi_key = '7'\n[sources.resources.details]\napi_key = 'of details'\n"
    )
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "ask.py").write_text(ASK)
    found: list[Any] = json.loads(run(folder, "ask.py").splitlines()[-1])
    return found


def test_resources_and_sources_give_their_rows(tmp_path: Path) -> None:
    cases: list[dict[str, Any]] = [
        {"function": "resources:plain", "arguments": {"count": 1}},
        {"function": "resources:shop", "resource": "plain", "nesting": "tables"},
        {"function": "resources:shop", "resource": "keyed"},
        {"function": "resources:details"},
        {"function": "resources:ready"},
        {"function": "resources:ready"},
        {"function": "resources:get_orders"},
        {"function": "resources:get_orders", "schema": {"table": "declared", "fields": {"id": "int"}}},
        {"function": "resources:optional"},
        {"function": "resources:made_each_time"},
    ]
    found = asked(tmp_path, *cases)
    plain, nested, keyed, details, ready, again, named, declared, optional, made = found
    assert plain[:2] == [
        {"plain": []},
        ["{'id': 0, 'at': {'x': 1.5}, 'tags': None}", "{'id': 100, 'at': None, 'tags': ['a', 'b']}"],
    ]
    assert nested[0] == {"plain": [], "plain__tags": []}
    assert len(nested[1]) == 4
    assert keyed[:2] == [{"keyed": ["id", "line"]}, ["{'id': 1, 'line': 1}", "{'id': 2, 'line': 1}"]]
    assert details[:2] == [{"details": []}, ["{'id': 7, 'key': 'of details'}"]]
    assert ready == again == [{"ready": []}, ["{'id': 1}", "{'id': 2}"], []]
    assert named[:2] == [{"shop_orders": ["id"]}, ["{'id': 1}"]]
    assert "write_disposition = merge" in named[2][0]
    assert declared[0] == {"declared": ["id"]}
    assert optional[1] == ["{'id': 1}"]
    assert made[:2] == [{"numbers": []}, ["{'id': 0}", "{'id': 1}"]]


def test_values_keep_their_types(tmp_path: Path) -> None:
    names = ("typed", "arrow", "parallel", "deferred", "asynchronous")
    typed, arrow, *side_by_side = asked(tmp_path, *({"function": f"resources:{name}"} for name in names))
    assert typed[1] == [
        "{'price': Decimal('12.50'), 'day': datetime.date(2024, 2, 29), "
        "'moment': datetime.datetime(2024, 2, 29, 10, 0, 0, 123456, tzinfo=<UTC>), "
        "'local': datetime.datetime(2024, 2, 29, 12, 0), 'data': b'\\x00\\xff', 'large': 4611686018427387905, "
        "'nothing': None, 'truth': True}"
    ]
    assert typed[2] == ["type hints of the resource have no effect (price): types come from the values, or from schema"]
    row = (
        "{'amount': Decimal('1.500'), 'day': datetime.date(2024, 2, 29), "
        "'moment': datetime.datetime(2024, 2, 29, 0, 0, tzinfo=<UTC>), 'data': b'\\x00', 'by_name': {'a': 1}}"
    )
    assert arrow[1] == [row, row]
    assert [rows for _, rows, _ in side_by_side] == [["{'id': 0}", "{'id': 1}", "{'id': 2}"]] * 3


def test_what_would_not_be_right_is_refused(tmp_path: Path) -> None:
    cases = {
        "dynamic": "chooses the table of each row (table_name is a function)",
        "marked": "an item is marked with TableNameMeta, which sends it to another table",
        "incremental": "the resource 'incremental' keeps state in dlt",
        "remembers": "the resource keeps state in dlt",
        "bound_cursor": "keeps state in dlt",
        "after_incremental": "'after_incremental' reads its data from 'incremental', which keeps state in dlt",
        "needs": "needs arguments; write them in arguments { }",
        "alone": "is a transformer that is not bound to a resource",
        "running": "is created from a generator object",
        "begun": "is created from a generator object",
        "broken": "resources:broken failed with ConnectionError: mine",
        "texts": "is a str; expected a mapping from column to value",
        "doubled": "has two columns with the name 'id'",
        "miskeyed": "the primary_key of the resource contains Id, but the columns are id",
        "secret": "resources:secret failed with ConfigFieldMissingException",
        "shop": "the option resource is missing; set resource to one of plain, keyed",
        "no_resource": "expected a resource or a source of dlt, found function",
        "nothing": "resources:nothing cannot be imported",
    }
    asking: list[dict[str, Any]] = [{"function": f"resources:{name}"} for name in cases]
    more = {
        "raises:shop": "raises:shop cannot be imported: RuntimeError: on import",
        "nowhere:shop": "nowhere:shop cannot be imported: No module named 'nowhere'",
        "a:b:c": 'expected an object in the form "package.module:name", found',
    }
    asking += [{"function": place} for place in more]
    asking += [{"function": "os:system", "arguments": {"command": f"touch {tmp_path}/called"}}]
    more["os:system"] = "expected a resource or a source of dlt, found builtin_function_or_method"
    *found, identified = asked(tmp_path, *asking, {"function": "resources:identified"})
    assert "00000000-0000-0000-0000-000000000001" in str(identified), "a UUID is a text"
    assert not (tmp_path / "called").exists()
    for said, wanted in zip(found, [*cases.values(), *more.values()], strict=True):
        assert isinstance(said, str), (said, wanted)
        assert wanted in said, (said, wanted)
