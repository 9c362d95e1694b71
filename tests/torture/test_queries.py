"""Jobs that group all rows in one query, killed where it counts: each group comes once, of one run of the query."""

import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.runtime.command import Command, published, staged

pytestmark = [
    pytest.mark.spark,
    pytest.mark.torture,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are watched through /proc"),
]

JOB = """
env {{
  job.mode = BATCH
  parallelism = 2
  checkpoint.interval = 500
  spark.sql.adaptive.enabled = false
  spark.sql.shuffle.partitions = 5
}}
source {{
  LocalFile {{
    plugin_output = orders
    path = "{folder}/in"
    file_format_type = csv
    split_size = 3000
    schema {{ fields {{ k = string, v = int }} }}
  }}
}}
transform {{
  SparkSql {{
    plugin_input = orders
    plugin_output = sums
    query = "SELECT k, count(*) AS n, sum(v) AS s, uuid() AS run FROM orders GROUP BY k"
  }}
}}
sink {{
  LocalFile {{ plugin_input = sums, path = "{folder}/sums", file_format_type = parquet }}
  LocalFile {{ plugin_input = orders, path = "{folder}/all", file_format_type = parquet }}
}}
"""
KEYS, ROWS = 50, 20_000

MOMENTS = {
    "the query has staged something": None,
    "before the checkpoint that names it": ["link", r"\.ckpt$", 2, "before"],
    "before the first file is published": ["rename", r"\.parquet$", 1, "before"],
    "between two files": ["rename", r"\.parquet$", 3, "after"],
    "before the last checkpoint": ["link", r"completed-point.*\.ckpt$", 1, "before"],
}


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """By key how many rows it has, and their sum."""
    (folder / "in").mkdir(parents=True)
    rows = [(f"k{n * 7 % KEYS}", n % 97) for n in range(ROWS)]
    for number in range(4):
        text = "".join(f"{k},{v}\n" for k, v in rows[number::4])
        (folder / "in" / f"{number}.csv").write_text(text)
    counts, sums = Counter(k for k, _ in rows), Counter[str]()
    for k, v in rows:
        sums[k] += v
    return {k: (counts[k], sums[k]) for k in counts}


LONG = ("before the checkpoint that names it", "before the first file is published", "before the last checkpoint")


@pytest.mark.parametrize(
    "moment", [pytest.param(each, marks=[pytest.mark.long] if each in LONG else []) for each in MOMENTS]
)
def test_a_killed_query_gives_each_group_once(moment: str, tmp_path: Path) -> None:
    expected = written(tmp_path)
    command = Command.of(tmp_path, JOB.format(folder=tmp_path))
    stop = MOMENTS[moment]
    engine = command.begin(stop=stop)
    while engine.exit_code is None and not (engine.stopped if stop else staged(tmp_path / "sums")):
        time.sleep(0.02)
    assert engine.exit_code is None, engine.output
    engine.kill()
    engine.end()
    resumed = command.resume()
    assert resumed.wait(900) == 0, resumed.output
    rows = [row for path in published(tmp_path / "sums") for row in pq.ParquetFile(path).read().to_pylist()]
    assert {row["k"]: (row["n"], row["s"]) for row in rows} == expected
    assert len(rows) == KEYS, "a group came twice"
    epochs = {path.name.split("-e")[1].split("-")[0] for path in published(tmp_path / "sums")}
    assert len(epochs) == 1, "files of two runs of the query"
    assert sum(pq.ParquetFile(path).metadata.num_rows for path in published(tmp_path / "all")) == ROWS
