"""The cases: what is measured, which systems take turns, and the goals."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from tests.bench import (
    buckets,
    coordinator,
    databases,
    failover,
    idle,
    json_lines,
    local_files,
    map_store,
    peers,
    tables,
)
from tests.bench.bench import Bench, Played
from tests.bench.figure import Figure, Goal, at_least, at_most, ratios
from tests.bench.systems import BLOCKS

Case = Callable[[Bench], None]

_FLOORS = tuple(f"floor, blocks of {name}" for name in BLOCKS)
_MB = 1e6


def csv_to_parquet(files: int, bench: Bench) -> None:
    others = ("Spark batch", "Structured Streaming", *_FLOORS, "DuckDB", "dlt", *peers.with_seatunnel("SeaTunnel"))
    systems = ("ours", *others)
    # Ours comes right behind the floors: a kernel that takes back what was not used for half a minute has then left
    # both the same of what they share, the table and pyarrow's libraries.
    floored = others.index(_FLOORS[-1]) + 1
    played = bench.play((*others[:floored], "ours", *others[floored:]), tables.lineitem(bench.data, files=files))
    for other in ("Spark batch", "Structured Streaming"):
        bench.record(played.ratio(other, "ours", "start_to_exit_s", at_least(3)))
        bench.record(played.ratio(other, "ours", "cpu_s"))
    if "SeaTunnel" in systems:
        bench.record(played.ratio("SeaTunnel", "ours", "start_to_exit_s", at_least(5.5)))
    best = _best(played, "wall_s")
    bench.record(
        Figure(
            what="ours / floor, after Spark is up",
            values=ratios(played.values("ours", "wall_s"), best),
            goal=at_most(1.25),
        ),
        _after_spark(played, "dlt", at_least(1.6)),
        _after_spark(played, "DuckDB"),
        played.ratio("ours", "Spark batch", "peak_bytes", at_most(0.6)),
    )
    _tell_times(bench, played, systems)


def _after_spark(played: Played, other: str, goal: Goal | None = None) -> Figure:
    """What has no Spark, from its start to its exit, against ours once Spark is up."""
    values = ratios(played.values(other, "start_to_exit_s"), played.values("ours", "wall_s"))
    return Figure(what=f"{other}, start to exit / ours, after Spark is up", values=values, goal=goal)


def _best(played: Played, key: str) -> list[float]:
    return [min(each[name][key] for name in _FLOORS) for each in played.rounds]


def _tell_times(bench: Bench, played: Played, systems: tuple[str, ...]) -> None:
    for name in systems:
        bench.record(played.value(name, "start_to_exit_s"))
    for name in systems:
        bench.record(_megabytes(played, name, "peak_bytes", "memory at its peak"))


def _megabytes(played: Played, system: str, key: str, what: str) -> Figure:
    return Figure(what=f"{system}, {what}", values=(each / _MB for each in played.values(system, key)), unit="MB")


def four_times_the_data(bench: Bench) -> None:
    """Beside it, the table once: what the driver has in memory must not grow with the data."""
    more, once = tables.lineitem_times(bench.data, 4), tables.lineitem(bench.data, files=8)
    a_quarter = "ours, a quarter of it"
    played = bench.play_turns({"ours": ("ours", more), "dlt": ("dlt", more), a_quarter: ("ours", once)})
    bench.record(
        played.ratio("dlt", "ours", "start_to_exit_s", at_least(1)),
        played.ratio("ours", a_quarter, "driver_bytes", at_most(1.1)),
        played.ratio("ours", a_quarter, "peak_bytes"),
        _megabytes(played, "ours", "driver_bytes", "memory of the driver at its peak"),
        _megabytes(played, a_quarter, "driver_bytes", "memory of the driver at its peak"),
    )
    _tell_times(bench, played, ("ours", "dlt", a_quarter))


def parquet_to_parquet(bench: Bench) -> None:
    played = bench.play(("ours, Parquet", "Spark batch, Parquet"), tables.lineitem_parquet(bench.data))
    bench.record(played.ratio("Spark batch, Parquet", "ours, Parquet", "wall_s", at_least(1.5)))
    bench.record(played.ratio("Spark batch, Parquet", "ours, Parquet", "cpu_s"))


def small_tables(bench: Bench) -> None:
    folder = tables.small_tables(bench.data, tables=1000, rows=100)
    played = bench.play(("small tables", "smallest-job"), folder)
    bench.record(
        played.ratio("small tables", "smallest-job", "start_to_exit_s", at_most(2)),
        played.value("small tables", "ms_per_table", "ms", at_most(2)),
        _cpu_of_a_table(played, "small tables"),
    )


def many_small_tables(bench: Bench) -> None:
    """Of a thousand much is done while Spark starts, and of ten thousand next to nothing: so what a table costs is told
    from start to exit, too."""
    names = {number: f"{number:,} tables" for number in (10_000, 1000)}
    made = {number: tables.small_tables(bench.data, tables=number, rows=100) for number in names}
    played = bench.play_turns({name: ("small tables", made[number]) for number, name in names.items()})
    many, fewer = names.values()
    for name in names.values():
        bench.record(played.value(name, "ms_per_table", "ms"))
    bench.record(played.ratio(many, fewer, "ms_per_table", at_most(1)))
    for key, what in (("start_to_exit_s", "start to exit"), ("all_cpu_s", "processor time, start to exit")):
        each = [[spent * 1000 / number for spent in played.values(name, key)] for number, name in names.items()]
        for name, values in zip(names.values(), each, strict=True):
            bench.record(Figure(what=f"{name}, {what}, for each table", values=values, unit="ms"))
        bench.record(Figure(what=f"{many} / {fewer}, {what}, for each table", values=ratios(*each)))


def _cpu_of_a_table(played: Played, system: str) -> Figure:
    values = (spent * 1000 / number for spent, number in _cpu_and_tables(played, system))
    return Figure(what=f"{system}, processor time after Spark is up, for each table", values=values, unit="ms")


def _cpu_and_tables(played: Played, system: str) -> Iterator[tuple[float, float]]:
    yield from zip(played.values(system, "cpu_s"), played.values(system, "tables"), strict=True)


def more_and_more_tables(bench: Bench) -> None:
    """What a table costs must not grow with their number."""
    names = {number: f"{number:,} tables" for number in (10, 100, 1000)}
    made = {number: tables.small_tables(bench.data, tables=number, rows=100) for number in names}
    played = bench.play_turns({name: ("small tables", made[number]) for number, name in names.items()})
    for name in names.values():
        bench.record(played.value(name, "ms_per_table", "ms"), _cpu_of_a_table(played, name))
    for fewer, more in pairwise(names.values()):
        cpu = (each.values for each in (_cpu_of_a_table(played, more), _cpu_of_a_table(played, fewer)))
        bench.record(
            played.ratio(more, fewer, "ms_per_table", at_most(1)),
            Figure(what=f"{more} / {fewer}, processor time after Spark is up, for each table", values=ratios(*cpu)),
        )


def checkpoints(bench: Bench) -> None:
    every = {"10 s": None, "1 s": at_most(1.02), "0.1 s": at_most(1.1)}
    names = [f"ours, checkpoints every {interval}" for interval in every]
    played = bench.play(("ours", *names), tables.lineitem_times(bench.data, 4))
    for name, goal in zip(names, every.values(), strict=True):
        bench.record(played.ratio(name, "ours", "wall_s", goal), played.ratio(name, "ours", "cpu_s"))


def many_files(bench: Bench) -> None:
    """What waits to be read is in the state of each checkpoint: files without end must not make them dearer."""
    turns = {}
    for files in (1, 1000, 100_000):
        table = tables.lineitem_in_pieces(bench.data, files)
        turns[f"{files:,} {'file' if files == 1 else 'files'}"] = ("ours", table)
        turns[f"{files:,} files, checkpoints every 1 s"] = ("ours, checkpoints every 1 s", table)
    played = bench.play_turns(turns, rounds=min(3, bench.rounds))
    for without, checkpointed in zip(list(turns)[::2], list(turns)[1::2], strict=True):
        bench.record(played.ratio(checkpointed, without, "wall_s"), played.ratio(checkpointed, without, "cpu_s"))
    for name in turns:
        bench.record(played.value(name, "wall_s"))


def transforms(bench: Bench) -> None:
    systems = ("ours", "ours, Sql", "ours, one transform", "ours, five transforms")
    played = bench.play(systems, tables.lineitem(bench.data, files=1))
    bench.record(
        played.ratio("ours, Sql", "ours", "wall_s", at_most(1.3)),
        played.ratio("ours, Sql", "ours", "cpu_s"),
        played.ratio("ours, five transforms", "ours, one transform", "cpu_s", at_most(2)),
    )


def start(bench: Bench) -> None:
    first, theirs = "smallest-job, the first on a machine", peers.with_seatunnel("smallest-job of SeaTunnel")
    played = bench.play(("smallest-job", "smallest program", *theirs, first, "help", "check"), bench.data)
    for name in theirs:
        bench.record(played.ratio("smallest-job", name, "start_to_exit_s", at_most(1)))
    bench.record(
        played.ratio("smallest-job", "smallest program", "start_to_exit_s", at_most(0.5)),
        played.ratio(first, "smallest program", "start_to_exit_s", at_most(1)),
        played.value("help", "start_to_exit_s", goal=at_most(0.3)),
        played.value("check", "start_to_exit_s", goal=at_most(0.5)),
        played.value("smallest-job", "start_to_exit_s"),
        *(played.value(name, "start_to_exit_s") for name in ("smallest program", *theirs)),
    )


def killed(bench: Bench) -> None:
    played = bench.play(("ours, killed",), tables.lineitem_times(bench.data, 4))
    bench.record(played.value("ours, killed", "first_commit_s", goal=at_most(1)))


def scale(bench: Bench) -> None:
    others = ("ours, local[1]", "ours, standalone cluster")
    played = bench.play(("ours", *others), tables.lineitem(bench.data, files=8))
    for other in others:
        bench.record(played.ratio(other, "ours", "wall_s"), played.ratio(other, "ours", "cpu_s"))
    bench.record(*(played.value(name, "wall_s") for name in ("ours", *others)))


def from_bucket_to_bucket(bench: Bench) -> None:
    table = tables.lineitem(bench.data, files=8)
    with buckets.bucket_with(table):
        played = bench.play(("ours, buckets", "ours", "bare transfer"), table)
    both = map(sum, zip(played.values("ours", "wall_s"), played.values("bare transfer", "transfer_s"), strict=True))
    values = ratios(played.values("ours, buckets", "wall_s"), both)
    bench.record(
        Figure(what="ours, buckets / (ours + bare transfer), after Spark is up", values=values, goal=at_most(1.2)),
        played.ratio("ours, buckets", "ours", "cpu_s"),
        played.value("bare transfer", "transfer_s"),
    )


CASES: dict[str, tuple[str, Case]] = {
    "csv-one": ("380 MB of CSV in one file to Parquet", partial(csv_to_parquet, 1)),
    "csv-eight": ("380 MB of CSV in eight files to Parquet", partial(csv_to_parquet, 8)),
    "csv-four-times": ("1.5 GB of CSV to Parquet", four_times_the_data),
    "parquet": ("that table from Parquet to Parquet", parquet_to_parquet),
    "small": ("1,000 tables of 100 rows as 1,000 pipelines", small_tables),
    "more-small": ("10, 100 and 1,000 such tables: what each costs", more_and_more_tables),
    "many-small": ("10,000 tables of 100 rows as 10,000 pipelines", many_small_tables),
    "checkpoints": ("1.5 GB of CSV to Parquet, with checkpoints and without", checkpoints),
    "files": ("that table in 1, 1,000 and 100,000 files, with checkpoints every second and without", many_files),
    "transforms": ("transforms between CSV and Parquet, against none", transforms),
    "buckets": (
        "380 MB of CSV to Parquet from bucket to bucket, against local disks",
        from_bucket_to_bucket,
    ),
    "start": ("from start to exit of a job with almost no rows", start),
    "storage": ("a checkpoint in local files, against the system calls that it requires", local_files.report),
    "map-store": ("changes of a durable map, from 64 threads", map_store.report),
    "coordinator": ("what the coordinator costs the driver", coordinator.report),
    "failover": ("a pipeline that fails and is restored in a living process", failover.report),
    "killed": ("a process that is killed in its job, and the next one", killed),
    "idle": ("streaming pipelines that have nothing to do", idle.report),
    "states": ("a checkpoint every second of 1, 1,000 and 100,000 files that a job remembers", idle.report_states),
    "scale": ("380 MB of CSV to Parquet with one slot, with two, and on a standalone cluster with two", scale),
    "json-nested": ("1.5 million nested JSON lines to Parquet", json_lines.case("nested", "json")),
    "json-flat": ("1.5 million JSON lines of 16 columns to Parquet", json_lines.case("flat", "json")),
    "json-write": ("1.5 million rows of 16 columns from Parquet to JSON lines", json_lines.case("flat", "parquet")),
    "json-write-nested": ("1.5 million nested rows from Parquet to JSON lines", json_lines.case("nested", "parquet")),
    "jdbc-source": ("2 million rows of PostgreSQL to Parquet", databases.report_reading),
    "jdbc-sink": ("2 million rows of Parquet to PostgreSQL", databases.report_writing),
}
"""By the name that the command line takes: what is done, and who does it."""

FULL_ONLY = ("many-small", "files", "states")
"""They take long, and are left to ``make bench-full``."""
