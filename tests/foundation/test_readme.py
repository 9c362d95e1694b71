"""What the README tells people to type: its links lead somewhere, and the first jobs run."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.cli.init import init
from seatunnel_core.cli.subcommands import SUBCOMMANDS
from seatunnel_core.config.job_file import load_job
from tests.figures import Figure
from tests.foundation.clone import ROOT, clone

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def marked(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```shell\n(.*?)```", README, re.DOTALL)
    assert found is not None, f"the README has no block {name!r}"
    return found[1]


LINES = [line for block in blocks("shell") for line in block.splitlines() if line]


def test_subcommands_are_described() -> None:
    assert [name for name in SUBCOMMANDS if f"seatunnel {name}" not in README] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    gone = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert gone == []


def test_figures_are_those_of_the_benchmarks() -> None:
    page = (ROOT / "docs/evidence/benchmarks.md").read_text(encoding="utf-8")
    case = page[page.index("### `csv-one`") :]

    def figure(name: str) -> str:
        found = re.search(rf"^\| {name}, start to exit \| ([\d.]+)", case, re.MULTILINE)
        assert found is not None, name
        return f"{float(found[1]):.1f}"

    spark, seatunnel = figure("Spark batch / ours"), figure("SeaTunnel / ours")
    text = " ".join(README.split())
    assert f"{spark} times as fast as with Spark's own" in text
    assert f"{seatunnel} times as fast as with SeaTunnel's engine" in text
    times = [f"{figure(name)} s" for name in ("ours", "SeaTunnel", "dlt", "Spark batch")]
    (row,) = re.findall(r"^\| 380 MB of CSV .*", README, re.MULTILINE)
    assert re.findall(r"[\d.]+ s", row) == times
    assert f"({figure('DuckDB')} s)" in text


def test_plugins_are_counted() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    sources, sinks, transforms = (len(groups[f"seatunnel.{kind}"]) for kind in ("source", "sink", "transform"))
    assert f"[{sources} sources and {sinks} sinks]" in README
    assert f"| transforms | {transforms}, " in README


def test_the_job_that_is_shown_is_the_one_that_init_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    init(Path("first"))
    shown = tmp_path / "shown.conf"
    shown.write_text(blocks("hocon")[0].replace('"first/', f'"{tmp_path}/first/'))
    ours, theirs = load_job(Path("first/jobs/first.conf")), load_job(shown)
    assert ours.env == theirs.env
    assert [(block.identifier, plain(block.block)) for block in ours.blocks] == [
        (block.identifier, plain(block.block)) for block in theirs.blocks
    ]


def plain(value: object) -> object:
    """The tree without its positions."""
    if hasattr(value, "entries"):
        return {entry.key: plain(entry.value) for entry in value.entries}
    if hasattr(value, "values"):
        return [plain(item) for item in value.values]
    return getattr(value, "text", None)


def type_in(shell: str, folder: Path, **environment: str) -> str:
    """Run lines as a person types them, in a folder of their own; returns what they print."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    state = str(folder / "state")
    done = subprocess.run(
        ["sh", "-euc", shell],
        cwd=folder,
        env=os.environ | {"PATH": path, "XDG_STATE_HOME": state} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows_below(folder: Path) -> list[tuple[object, ...]]:
    tables = [pq.read_table(file, partitioning=None) for file in folder.glob("*.parquet")]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


EXPECTED = [
    ("Lisbon", 545_796),
    ("Nairobi", 4_397_073),
    ("Reykjavík", None),
    ("São Paulo", 11_451_999),
    ("Washington, D.C.", 689_545),
    ("東京", 14_047_594),
]


WITHOUT_A_TYPE = """
seatunnel:
  engine:
    checkpoint:
      interval: 1000
      storage:
        max-retained: 3
        plugin-config:
          namespace: {folder}/checkpoints/
"""
"""The type is ``localfile`` then, as in SeaTunnel: the plugin comes with the README's install."""


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_the_first_job_and_the_python_job_run_as_they_are_typed(tmp_path: Path) -> None:
    said = type_in(marked("first job"), tmp_path)
    assert "guarantee: exactly-once" in said
    assert sorted(rows_below(tmp_path / "first/output/cities")) == EXPECTED
    five_lines, sizes = blocks("python")
    of_the_demo = tmp_path / "demo-output/parquet/airlines"
    of_the_demo.mkdir(parents=True)
    pq.write_table(pa.table({"carrier": ["9E"], "name": ["Endeavor Air Inc."]}), of_the_demo / "airlines.parquet")
    (tmp_path / "sizes.py").write_text(five_lines + sizes, encoding="utf-8")  # in one process: Spark starts once
    assert "6" in type_in("python sizes.py", tmp_path).split()
    assert sorted(rows_below(tmp_path / "first/output/sizes")) == EXPECTED
    (airlines,) = (tmp_path / "demo-output/airlines").glob("*.json")
    assert json.loads(airlines.read_text(encoding="utf-8")) == {"carrier": "9E", "name": "Endeavor Air Inc."}


@pytest.mark.spark
@pytest.mark.install
@pytest.mark.timeout(300)
def test_the_submit_line_of_seatunnels_own_documentation(tmp_path: Path) -> None:
    """``$SEATUNNEL_HOME/bin/seatunnel.sh --config $SEATUNNEL_HOME/config/v2.batch.config.template`` runs, and the two
    documented ways to give options to the JVM reach it: a log that Java writes shows both."""
    init(tmp_path / "home")
    line = next(line for line in LINES if line.startswith("$SEATUNNEL_HOME/bin/"))
    said = type_in(
        f"{line} -DJvmOption='-Xmx700m'",
        tmp_path,
        SEATUNNEL_HOME=str(tmp_path / "home"),
        JAVA_OPTS=f"-Xlog:gc+init:file={tmp_path}/gc.log",
    )
    assert said.count("kind=INSERT") == 2 * 16  # row.num counts for each of the two parallel readers
    assert re.search(r"finished +32 +32 +32 ", said)  # read, written, committed
    assert "Heap Max Capacity: 700M" in (tmp_path / "gc.log").read_text()


@pytest.mark.install
@pytest.mark.timeout(3600)  # on a machine without a cache PySpark alone is 450 MB to download and to build
def test_the_install_block_with_wheels_in_the_place_of_the_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    """`make wheels`, its wheels with the extras that the README names into a fresh environment, then the first job."""
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHONPATH"):  # of the make that runs these tests
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_RETRIES", "10")
    copy = tmp_path / "clone"
    clone(copy)
    made = subprocess.run(
        ["make", "--silent", "wheels", "-o", "dev", f"RUN={sys.executable}"], cwd=copy, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stdout + made.stderr
    wheels = {each.name.partition("-")[0]: str(each) for each in (copy / "dist").glob("*.whl")}
    plugins = {f"seatunnel_storage_{name}" for name in ("hdfs", "jdbc", "localfile", "mapstore")}
    assert set(wheels) == {"seatunnel_core", "seatunnel_airflow", "seatunnel_dagster", *plugins}

    begun = time.monotonic()
    extras = "spark" if shutil.which("java") or os.environ.get("JAVA_HOME") else "spark,jre"  # as the README says
    block = marked("install").replace("'.[spark]'", f"'{wheels['seatunnel_core']}[{extras}]'")
    block = block.replace("./plugins/seatunnel-storage-*", " ".join(wheels[name] for name in sorted(plugins)))
    assert block.count(".whl") == 5, block
    person = tmp_path / "person"
    person.mkdir()
    type_in(block + marked("first job"), person)
    assert sorted(rows_below(person / "first/output/cities")) == EXPECTED
    assert "a savepoint" in type_in(".venv/bin/seatunnel help savepoints", person)
    (person / "seatunnel.yaml").write_text(WITHOUT_A_TYPE.format(folder=person), encoding="utf-8")
    assert "localfile" in type_in(".venv/bin/seatunnel -c first/jobs/first.conf --engine-config seatunnel.yaml", person)
    where = type_in(".venv/bin/python -c 'import seatunnel_core; print(seatunnel_core.__file__)'", person)
    assert Path(where.strip()).is_relative_to(person)
    figure(f"from the wheels to the first job's rows: {time.monotonic() - begun:.0f} s")
    shutil.rmtree(person / ".venv")  # over a gigabyte, and pytest keeps the folders of three runs
