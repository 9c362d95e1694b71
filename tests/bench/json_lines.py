"""JSON lines to Parquet and back, at 1.5 million rows: our job, Spark's reader and writer, and DuckDB's ``COPY``."""

from collections.abc import Callable
from pathlib import Path

from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_most, ratios
from tests.bench.systems import Figures, command, measured, peer, session

ROWS = 1_500_000

NESTED = {
    "id": ("bigint", "i"),
    "name": ("string", "'user ' || i % 1000"),
    "address": (
        "{street = string, zip = int, geo = {lat = double, lon = double}}",
        "{'street': 'Street ' || i % 500, 'zip': (10000 + i % 90000)::int, "
        "'geo': {'lat': (i % 1800) / 10, 'lon': (i % 3600) / 10}}",
    ),
    "tags": ("array<int>", "[i % 7, i % 11, i % 13]::int[]"),
    "items": (
        "array<{sku = string, qty = int, price = double}>",
        "[{'sku': 'S' || i % 100, 'qty': (i % 5)::int, 'price': (i % 10000) / 100}, "
        "{'sku': 'T' || i % 100, 'qty': (i % 3)::int, 'price': (i % 1000) / 100}]",
    ),
    "active": ("boolean", "i % 2 = 0"),
    "created": ("timestamp", "TIMESTAMP '2024-01-01' + INTERVAL (i) SECOND"),
}
FLAT = {
    "id": ("bigint", "i"),
    "number": ("int", "(i % 1000)::int"),
    "small": ("smallint", "(i % 100)::smallint"),
    "flag": ("boolean", "i % 2 = 0"),
    "ratio": ("double", "i * 0.37::double"),
    "price": ("decimal(18, 2)", "((i % 1000000) / 100)::decimal(18, 2)"),
    "name": ("string", "'text number ' || i"),
    "city": ("string", "'city-' || i % 300"),
    "day": ("date", "DATE '2020-01-01' + (i % 2000)::int"),
    "at": ("timestamp", "TIMESTAMP '2024-01-01' + INTERVAL (i) SECOND"),
    "total": ("bigint", "i * 31"),
    "note": ("string", "'some longer description, with words ' || i % 5000"),
    "seldom": ("int", "CASE WHEN i % 10 = 0 THEN NULL ELSE (i % 50)::int END"),
    "part": ("double", "(i % 77) / 7::double"),
    "code": ("string", "'x' || i % 26"),
    "rate": ("decimal(9, 3)", "((i % 50) / 10)::decimal(9, 3)"),
}
"""The columns of the two tables: SeaTunnel's type, and the value of row ``i`` in DuckDB."""

TABLES = {"nested": NESTED, "flat": FLAT}
_JOB = """env {{ job.name = "json", job.mode = "BATCH", parallelism = 2 }}
source {{ LocalFile {{ path = "{table}", file_format_type = "{read}", schema {{ fields {{ {fields} }} }} }} }}
sink {{ LocalFile {{ path = "{folder}/out", file_format_type = "{written}" }} }}
"""


def table(folder: Path, name: str, format: str) -> Path:
    """A folder with one file of the table, made where it is not there."""
    found = folder / f"{name}-{format}"
    if not found.exists():
        import duckdb

        found.mkdir()
        values = ", ".join(f'{value} AS "{column}"' for column, (_, value) in TABLES[name].items())
        with duckdb.connect() as connection:
            rows = f"SELECT {values} FROM range({ROWS}) t(i)"
            connection.execute(f"COPY ({rows}) TO '{found}/a.{format}' (FORMAT {format})")
    return found


# -- the systems ------------------------------------------------------------------------------------------------------


def ours(folder: Path, table: Path) -> Figures:
    name, _, read = table.name.partition("-")
    fields = ", ".join(f'{column} = "{kind}"' for column, (kind, _) in TABLES[name].items())
    path = folder / "json.conf"
    written = "parquet" if read == "json" else "json"
    path.write_text(_JOB.format(table=table, read=read, fields=fields, folder=folder, written=written))
    return command(path, folder)


def spark(folder: Path, table: Path) -> Figures:
    """With the schema, as ours has it."""
    name, _, read = table.name.partition("-")
    spark = session(folder)
    with measured() as figures:
        if read == "json":
            spark.read.schema(_ddl(name)).json(str(table)).write.parquet(str(folder / "out"))
        else:
            spark.read.parquet(str(table)).write.json(str(folder / "out"))
    spark.stop()
    return figures


def _ddl(name: str) -> str:
    columns = ", ".join(f"{column} {kind}" for column, (kind, _) in TABLES[name].items())
    for ours, theirs in (("{", "struct<"), ("}", ">"), (" = ", ": ")):
        columns = columns.replace(ours, theirs)
    return columns


SYSTEMS = {"ours, JSON": ours, "Spark batch, JSON": spark, "DuckDB, JSON": peer("duckdb_json")}


# -- the cases --------------------------------------------------------------------------------------------------------


def case(name: str, format: str) -> Callable[[Bench], None]:
    """The job after Spark is up against the whole of DuckDB's command, from its start to its exit."""

    def play(bench: Bench) -> None:
        played = bench.play(tuple(SYSTEMS), table(bench.data, name, format))
        values = ratios(played.values("ours, JSON", "wall_s"), played.values("DuckDB, JSON", "start_to_exit_s"))
        what = "ours, after Spark is up / DuckDB, start to exit"
        bench.record(Figure(what=what, values=values, goal=at_most(3)))
        cpu = ratios(played.values("ours, JSON", "cpu_s"), played.values("DuckDB, JSON", "all_cpu_s"))
        bench.record(Figure(what=f"{what}, processor time", values=cpu))
        bench.record(played.ratio("Spark batch, JSON", "ours, JSON", "wall_s"))
        bench.record(*(played.value(system, "wall_s") for system in SYSTEMS))

    return play
