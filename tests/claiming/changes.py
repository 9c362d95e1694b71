"""A job with several sinks, and the changes that somebody may make to it between two runs."""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from seatunnel_core.job.restoring import Restore
from tests.runtime import command

ROWS = 120
SPLITS = 24
KINDS = ("LocalFile", "Jdbc", "Iceberg")
FORMATS = ("json", "parquet", "csv")


@frozen(kw_only=True)
class SinkBlock:
    """One entry of the block ``sink``."""

    key: int
    """Tells sinks apart in the judgement; no part of the job."""

    kind: str
    source: str
    target: str
    """A folder or a table, by its last name."""

    name: str = ""
    options: Mapping[str, str] = {}

    def text(self, work: Path) -> str:
        named = f'name = "{self.name}", ' if self.name else ""
        where = {
            "LocalFile": f'path = "{work}/out/{self.target}"',
            "Jdbc": f'url = "jdbc:sqlite:{work}/target.db", generate_sink_sql = true, table = {self.target}',
            "Iceberg": f'iceberg.catalog.config {{ type = sql, uri = "sqlite:///{work}/catalog.db", warehouse = '
            f'"file://{work}/warehouse" }}, namespace = n, table = {self.target}',
        }[self.kind]
        more = "".join(f", {key} = {value}" for key, value in self.options.items())
        return f"  {self.kind} {{ {named}plugin_input = [{self.source}], {where}{more} }}\n"


@frozen(kw_only=True)
class Job:
    """A job, and how it is restored."""

    sources: tuple[str, ...]
    sinks: tuple[SinkBlock, ...]
    parallelism: int = 1
    restore: Restore = field(factory=Restore)
    told: tuple[str, ...] = ()
    """What was changed, in words."""

    def text(self, work: Path, rows_per_second: int | None) -> str:
        limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
        sources = "".join(
            command.fake_source(name, rows=ROWS, splits=SPLITS).replace(
                "parallelism = 1", f"parallelism = {self.parallelism}"
            )
            for name in self.sources
        )
        sinks = "".join(sink.text(work) for sink in self.sinks)
        env = f"job.mode = BATCH, checkpoint.interval = 30, job.retry.times = 0{limit}"
        return f"env {{ {env} }}\nsource {{{sources}\n}}\nsink {{\n{sinks}}}\n"


# -- what is changed --------------------------------------------------------------------------------------------------


def _one(job: Job, rng: random.Random) -> SinkBlock:
    return rng.choice(job.sinks)


def _with(job: Job, sink: SinkBlock, told: str) -> Job:
    sinks = tuple(sink if each.key == sink.key else each for each in job.sinks)
    return evolve(job, sinks=sinks, told=(*job.told, told))


def shuffle(job: Job, rng: random.Random) -> Job:
    return evolve(job, sinks=tuple(rng.sample(job.sinks, len(job.sinks))), told=(*job.told, "sinks reordered"))


def move(job: Job, rng: random.Random) -> Job:
    sink = _one(job, rng)
    return _with(job, evolve(sink, target=sink.target + "moved"), f"{sink.kind} {sink.target} moved")


def swap(job: Job, rng: random.Random) -> Job:
    one, other = rng.choice(job.sinks), rng.choice(job.sinks)
    if one.kind != other.kind:
        return job
    swapped = _with(job, evolve(one, target=other.target), f"{one.target} and {other.target} swapped")
    return _with(swapped, evolve(other, target=one.target), "")


def rename(job: Job, rng: random.Random) -> Job:
    sink = _one(job, rng)
    return _with(job, evolve(sink, name=f"renamed{sink.key}"), f"{sink.kind} {sink.target} renamed")


def take_name(job: Job, rng: random.Random) -> Job:
    one, other = rng.choice(job.sinks), rng.choice(job.sinks)
    named = _with(job, evolve(one, name=other.name), f"{one.target} and {other.target} have exchanged names")
    return _with(named, evolve(other, name=one.name), "")


def drop(job: Job, rng: random.Random) -> Job:
    if len(job.sinks) < 2:
        return job
    gone = _one(job, rng)
    left = tuple(sink for sink in job.sinks if sink.key != gone.key)
    fed = tuple(name for name in job.sources if any(sink.source == name for sink in left))
    return evolve(job, sinks=left, sources=fed, told=(*job.told, f"{gone.kind} {gone.target} dropped"))


def add(job: Job, rng: random.Random) -> Job:
    shared = rng.random() < 0.5
    like = _one(job, rng)
    key = max(sink.key for sink in job.sinks) + 100
    new = evolve(like, key=key, name=f"new{key}", target=like.target if shared else f"new{key}")
    at = rng.randint(0, len(job.sinks))
    return evolve(
        job, sinks=(*job.sinks[:at], new, *job.sinks[at:]), told=(*job.told, f"a sink for {new.target} added")
    )


def add_table(job: Job, rng: random.Random) -> Job:
    like = _one(job, rng)
    key = max(sink.key for sink in job.sinks) + 1000
    target = like.target if rng.random() < 0.5 else f"new{key}"
    new = evolve(like, key=key, source=f"s{key}", name=f"new{key}", target=target)
    return evolve(
        job,
        sources=(*job.sources, new.source),
        sinks=(*job.sinks, new),
        told=(*job.told, f"a table for {target} added"),
    )


OPTIONS: Mapping[str, Sequence[tuple[str, Sequence[str | None]]]] = {
    "LocalFile": [
        ("file_format_type", FORMATS),
        ("data_save_mode", ["DROP_DATA", "APPEND_DATA", "ERROR_WHEN_DATA_EXISTS"]),
        ("schema_save_mode", [None, "RECREATE_SCHEMA"]),
        ("partition_by", [None, "[text]"]),
        ("file_name_expression", [None, '"part-${transactionId}"', '"${now}_${transactionId}"']),
        ("custom_filename", ["true"]),
        ("batch_size", ["1", "1000"]),
        ("sink_columns", ["[id]", "[id, text]"]),
        ("compress_codec", ["none"]),
    ],
    "Jdbc": [
        ("is_exactly_once", ["true", "false"]),
        ("data_save_mode", ["DROP_DATA", "APPEND_DATA", "ERROR_WHEN_DATA_EXISTS"]),
        ("schema_save_mode", [None, "RECREATE_SCHEMA"]),
        ("primary_keys", [None, "[id]"]),
        ("enable_upsert", ["true", "false"]),
        ("field_ide", ["ORIGINAL", "LOWERCASE"]),
        ("batch_size", ["1", "1000"]),
    ],
    "Iceberg": [
        ("data_save_mode", ["DROP_DATA", "APPEND_DATA", "ERROR_WHEN_DATA_EXISTS"]),
        ("schema_save_mode", [None, "RECREATE_SCHEMA"]),
        ("iceberg.table.partition-keys", [None, "text"]),
    ],
}


def option(job: Job, rng: random.Random) -> Job:
    sink = _one(job, rng)
    key, values = rng.choice(OPTIONS[sink.kind])
    value = rng.choice(values)
    options = {name: text for name, text in sink.options.items() if name != key}
    if value is not None:
        options[key] = value
    return _with(job, evolve(sink, options=options), f"{sink.kind} {sink.target}: {key} = {value}")


def may_drop(job: Job, rng: random.Random) -> Job:
    return evolve(job, restore=evolve(job.restore, allow_non_restored_state=True), told=(*job.told, "may drop states"))


CHANGES: Sequence[Callable[[Job, random.Random], Job]] = (
    shuffle,
    move,
    swap,
    rename,
    take_name,
    drop,
    add,
    add_table,
    option,
    option,
    option,
    may_drop,
)

# -- one play ---------------------------------------------------------------------------------------------------------


def a_job(rng: random.Random) -> Job:
    sources = tuple(f"s{number}" for number in range(rng.randint(1, 2)))
    sinks = []
    for key in range(rng.randint(len(sources), 3)):
        kind = rng.choice(KINDS)
        options = {
            "LocalFile": {"file_format_type": rng.choice(FORMATS)},
            "Jdbc": {"is_exactly_once": "true"},
            "Iceberg": {},
        }[kind]
        source = sources[key] if key < len(sources) else rng.choice(sources)
        target = f"t{rng.randint(0, key)}" if rng.random() < 0.3 else f"t{key}"
        name = f"n{key}" if rng.random() < 0.5 else ""
        if rng.random() < 0.3:
            options = {**options, "data_save_mode": "DROP_DATA"}
        sinks.append(SinkBlock(key=key, kind=kind, source=source, target=target, name=name, options=options))
    return Job(sources=sources, sinks=tuple(sinks))
