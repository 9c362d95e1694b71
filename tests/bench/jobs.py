"""The job files that are measured, and the engine file beside them."""

from pathlib import Path

from tests.bench.tables import LINEITEM

_ENGINE = """seatunnel:
  engine:
    checkpoint:
      storage:
        type: hdfs
        plugin-config:
          storage.type: hdfs
          fs.defaultFS: file:///
          namespace: {folder}/checkpoints/
"""

_LINEITEM = """env {{
  job.name = "lineitem"
  job.mode = "BATCH"
  parallelism = {parallelism}
  {env}
}}
source {{
  LocalFile {{
    path = "{table}"
    file_format_type = "csv"
    csv_use_header_line = true
    schema {{ fields {{ {fields} }} }}
  }}
}}
{transform}
sink {{
  LocalFile {{ path = "{target}", file_format_type = "parquet" }}
}}
"""

_PARQUET = """env {{ job.name = "parquet", job.mode = "BATCH", parallelism = 2 }}
source {{ LocalFile {{ path = "{table}", file_format_type = "parquet" }} }}
sink {{ LocalFile {{ path = "{target}", file_format_type = "parquet" }} }}
"""

SQL = """transform { Sql { query = \"\"\"
  SELECT l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_discount, l_tax, l_linestatus,
         l_shipdate, l_commitdate, l_receiptdate,
         l_extendedprice * (1 - l_discount) AS l_extendedprice,
         LOWER(l_returnflag) AS l_returnflag,
         CONCAT(l_shipmode, '-', l_shipinstruct) AS l_shipinstruct,
         CASE WHEN l_quantity > 25 THEN 'many' ELSE 'few' END AS l_shipmode,
         UPPER(l_comment) AS l_comment
  FROM lineitem WHERE l_quantity > 0
\"\"\" } }"""
"""A filter that all rows pass, and five expressions: as many rows and columns are written as without it."""

_REPLACE = 'Replace { replace_field = l_comment, pattern = "the", replacement = "a" }'
ONE = f"transform {{ {_REPLACE} }}"
FIVE = f"""transform {{
  Copy {{ fields {{ mode = l_shipmode }} }}
  {_REPLACE}
  FieldRename {{ specific = [ {{ field_name = mode, target_name = shipped_by }} ] }}
  DataValidator {{ field_rules = [ {{ field_name = l_quantity, rule_type = RANGE, min_value = 0 }} ] }}
  Filter {{ exclude_fields = [shipped_by] }}
}}"""
"""Both end with the columns of the table, so that as much is written."""

_SMALL_SOURCE = """  LocalFile {{
    plugin_output = "t{number}"
    path = "{tables}/{number}.csv"
    file_format_type = "csv"
    csv_use_header_line = true
    schema {{ fields {{ id = bigint, name = string, value = double }} }}
  }}
"""
_SMALL_SINK = (
    '  LocalFile {{ plugin_input = "t{number}", path = "{folder}/t{number}", file_format_type = "parquet" }}\n'
)

SMALLEST = """env { job.name = "smallest", job.mode = "BATCH", parallelism = 1 }
source { FakeSource { row.num = 1, schema { fields { id = bigint } } } }
sink { Console { } }
"""


def write_engine(folder: Path) -> Path:
    path = folder / "seatunnel.yaml"
    path.write_text(_ENGINE.format(folder=folder))
    return path


def write_lineitem(
    folder: Path, table: Path, target: Path, *, parallelism: int = 2, env: str = "", transform: str = ""
) -> Path:
    """The job that turns the table into Parquet; ``env`` are more of its ``env`` options."""
    fields = ", ".join(f'{name} = "{kind}"' for name, kind in LINEITEM.items())
    path = folder / "lineitem.conf"
    given = {"parallelism": parallelism, "env": env, "table": table, "fields": fields, "target": target}
    path.write_text(_LINEITEM.format(**given, transform=transform))
    return path


def write_parquet(folder: Path, table: Path) -> Path:
    """The job that reads Parquet and writes it."""
    path = folder / "parquet.conf"
    path.write_text(_PARQUET.format(table=table, target=folder / "out"))
    return path


def write_small(folder: Path, tables: Path, target: Path, number_of_tables: int) -> Path:
    """The job with one pipeline per small table."""
    numbers = range(number_of_tables)
    sources = "".join(_SMALL_SOURCE.format(number=number, tables=tables) for number in numbers)
    sinks = "".join(_SMALL_SINK.format(number=number, folder=target) for number in numbers)
    env = 'env { job.name = "small", job.mode = "BATCH" }'
    path = folder / "small.conf"
    path.write_text(f"{env}\nsource {{\n{sources}}}\nsink {{\n{sinks}}}\n")
    return path


def write_smallest(folder: Path) -> Path:
    path = folder / "smallest.conf"
    path.write_text(SMALLEST)
    return path


_WAITING_SOURCE = "  FakeSource {{ plugin_output = t{number}, row.num = 1, schema {{ fields {{ id = bigint }} }} }}\n"
_WAITING_SINK = "  Console {{ plugin_input = t{number} }}\n"


def write_waiting(folder: Path, pipelines: int) -> Path:
    """The job with pipelines of one row each, and a checkpoint a second as long as they live."""
    numbers = range(pipelines)
    sources = "".join(_WAITING_SOURCE.format(number=number) for number in numbers)
    sinks = "".join(_WAITING_SINK.format(number=number) for number in numbers)
    env = 'env { job.name = "waiting", job.mode = "BATCH", checkpoint.interval = 1000 }'
    path = folder / "waiting.conf"
    path.write_text(f"{env}\nsource {{\n{sources}}}\nsink {{\n{sinks}}}\n")
    return path


_IDLE_SOURCE = """  LocalFile {{
    plugin_output = t{number}, path = "{folder}/in/{number}", file_format_type = "json"
    discovery_mode = "continuous"
    schema {{ fields {{ id = bigint }} }}
  }}
"""


def write_idle(folder: Path, pipelines: int) -> Path:
    """The streaming job whose pipelines watch folders that stay empty."""
    numbers = range(pipelines)
    for number in numbers:
        (folder / "in" / str(number)).mkdir(parents=True)
    sources = "".join(_IDLE_SOURCE.format(number=number, folder=folder) for number in numbers)
    sinks = "".join(_WAITING_SINK.format(number=number) for number in numbers)
    env = 'env { job.name = "idle", job.mode = "STREAMING", checkpoint.interval = 10000 }'
    path = folder / "idle.conf"
    path.write_text(f"{env}\nsource {{\n{sources}}}\nsink {{\n{sinks}}}\n")
    return path


_WATCHING = """env {{ job.name = "watching", job.mode = "STREAMING", checkpoint.interval = 1000 }}
source {{
  LocalFile {{
    path = "{table}", file_format_type = "csv", csv_use_header_line = true
    discovery_mode = "continuous", start_mode = "latest", scan_interval = "1h"
    schema {{ fields {{ {fields} }} }}
  }}
}}
sink {{ Console {{ }} }}
"""


def write_watching(folder: Path, table: Path) -> Path:
    """The streaming job that remembers the files that are there, and looks for others when nobody measures any more."""
    fields = ", ".join(f'{name} = "{kind}"' for name, kind in LINEITEM.items())
    path = folder / "watching.conf"
    path.write_text(_WATCHING.format(table=table, fields=fields))
    return path


FAILING = """env {{
  job.name = "failing", job.mode = "BATCH", parallelism = 1
  checkpoint.interval = 1000, job.retry.times = {times}, job.retry.interval.seconds = 0
}}
source {{ FakeSource {{ plugin_output = "in", row.num = 1000, schema {{ fields {{ id = bigint }} }} }} }}
transform {{ Python {{ plugin_input = "in", plugin_output = "out", function = "failing:tried" }} }}
sink {{ LocalFile {{ plugin_input = "out", path = "{folder}/out", file_format_type = "parquet" }} }}
"""


def write_failing(folder: Path, times: int) -> Path:
    """The job whose pipeline fails and starts again so many times; ``failing.tried`` decides about each try."""
    path = folder / "failing.conf"
    path.write_text(FAILING.format(folder=folder, times=times))
    return path
