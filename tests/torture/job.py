"""The job that is tortured: what its files say, where it writes, and what its folders show from outside."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from attrs import field, frozen

from tests.torture.databases.tables import Table, differences

_ENGINE = """seatunnel:
  engine:
    checkpoint:
      interval: 300000
      storage:
        type: hdfs
        max-retained: 2
        plugin-config:
          storage.type: hdfs
          fs.defaultFS: file:///
          namespace: {state}/
"""

_ENV = """env {{
  job.name = "torture"
  job.mode = "BATCH"
  parallelism = {parallelism}
  checkpoint.interval = {interval_ms}
  read_limit.rows_per_second = {rows_per_second}
}}
"""

_SOURCE = """
  LocalFile {{
    plugin_output = "{name}"
    path = "{path}"
    split_size = {split_size}
    {reading}
  }}
"""

_DROP = "data_save_mode = DROP_DATA"

_SQL = """
  SparkSql {{
    plugin_input = "{name}"
    plugin_output = "{output}"
    query = "SELECT * FROM {name}"
  }}
"""

BEHIND_SERVERS = ("postgres", "mariadb", "s3", "versitygw", "hdfs", "kafka")
MERGING = ("duckdb", "iceberg-modes", "postgres-modes", "mariadb-modes")
SINKS = ("file", "iceberg", *MERGING, *BEHIND_SERVERS)
"""Where a tortured job may write; otherwise, names of file formats with commas between them."""

_SINK = """
  LocalFile {{
    plugin_input = "{name}"
    path = "{target}"
    file_format_type = "{format}"
    {more}
  }}
"""


@frozen(kw_only=True)
class Target:
    """One sink of the job."""

    table: Table
    folder: Path
    format: str
    more: str = ""
    """Further options."""

    def block(self, source: str) -> str:
        """The sink in the job file, behind the node ``source``."""
        return _SINK.format(name=source, target=self.folder, format=self.format, more=self.more)

    def staged(self) -> set[str]:
        """The names of the files in staging."""
        return {os.path.basename(path) for path in files_below(self.folder / ".seatunnel")}

    def published(self) -> set[str]:
        """The names of the published files."""
        return {os.path.basename(path) for path in files_below(self.folder, hidden=False)}

    def free(self) -> bool:
        """Whether another process could write there now, all that a sleeping one holds being locked."""
        return True

    def differences(self) -> str:
        """Empty when it holds each row as often as its table does."""
        return differences(self.table, self.folder)


@frozen(kw_only=True)
class InFlight:
    """What one format of a job showed at one moment."""

    staged: bool
    """Whether anything had been staged until then."""

    published: frozenset[str] = field(repr=False)
    """What had been published until then."""


@frozen(kw_only=True)
class TorturedJob:
    """One job in a folder of its own."""

    folder: Path
    job_id: str
    targets: tuple[Target, ...]
    state: Path = field()
    sink: str = "file"

    @property
    def rows(self) -> int:
        """How many rows must lie in the targets at the end."""
        return sum(target.table.rows for target in self.targets)

    def arguments(self, *more: str) -> list[str]:
        return ["-c", str(self.folder / "job.conf"), "--engine-config", str(self.folder / "seatunnel.yaml"), *more]

    # -- what the folders show ------------------------------------------------------------------------------------

    def staged(self) -> set[str]:
        return {name for target in self.targets for name in target.staged()}

    def published(self) -> set[str]:
        return {name for target in self.targets for name in target.published()}

    def free(self) -> bool:
        """Whether another process could go on with the job now."""
        return all(target.free() for target in self.targets)

    def in_flight(self) -> Mapping[str, InFlight]:
        """By format."""
        found: dict[str, InFlight] = {}
        for format in dict.fromkeys(target.format for target in self.targets):
            targets = [target for target in self.targets if target.format == format]
            published = frozenset(name for target in targets for name in target.published())
            staged = bool(published) or any(target.staged() for target in targets)
            found[format] = InFlight(staged=staged, published=published)
        return found

    def stored(self, mark: str = ".ckpt") -> set[str]:
        """The stored objects whose name contains ``mark``, such as ``.completed-point.`` or ``.epoch``."""
        here = self.state / self.job_id
        return {path for path in files_below(here) if mark in os.path.basename(path) and "/.tmp/" not in path}


def files_below(folder: str | os.PathLike[str], *, hidden: bool = True) -> Iterator[str]:
    """The paths of all files below a folder that other processes work in: what vanishes meanwhile is left out."""
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if not hidden and entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(entry.path, hidden=hidden)
        else:
            yield entry.path


def leave_old_file(folder: Path) -> None:
    """Rows of yesterday's job, which ``data_save_mode`` is to drop: once, and never those of this job."""
    folder.mkdir(parents=True)
    (folder / "yesterday.json").write_text('{"tailnum": "N00000"}\n', "utf-8")


def make_job(
    folder: Path,
    tables: Sequence[Table],
    *,
    job_id: str,
    rows_per_second: int,
    interval_ms: int,
    parallelism: int,
    split_size: int,
    on_frames: bool,
    sink: str = "file",
) -> TorturedJob:
    """Write the job's files: a pipeline per table, of which the first one feeds two sinks.

    Args:
        on_frames: whether the last table goes through a DataFrame of Spark.
        sink: one of ``SINKS``, or names of formats.
    """
    from tests.torture.copies import Copied

    folder.mkdir(parents=True)
    targets = _targets_of(sink, folder / "out", tables)
    read = [table for table in tables if any(target.table.name == table.name for target in targets)]
    sources = (
        _SOURCE.format(name=table.name, path=table.path, split_size=split_size, reading=table.reading())
        for table in read
    )
    of_rows = [table.name for table in read if not isinstance(table, Copied)]
    through = {name: "through-sql" for name in of_rows[-1:] if on_frames}
    transforms = (_SQL.format(name=name, output=output) for name, output in through.items())
    sinks = (target.block(through.get(target.table.name, target.table.name)) for target in targets)
    env = _ENV.format(parallelism=parallelism, interval_ms=interval_ms, rows_per_second=rows_per_second)
    text = f"{env}\nsource {{{''.join(sources)}}}\n\ntransform {{{''.join(transforms)}}}\n\nsink {{{''.join(sinks)}}}\n"
    (folder / "job.conf").write_text(text, "utf-8")
    (folder / "seatunnel.yaml").write_text(_ENGINE.format(state=folder / "state"), "utf-8")
    return TorturedJob(folder=folder, job_id=job_id, targets=tuple(targets), state=folder / "state", sink=sink)


def _targets_of(sink: str, out: Path, tables: Sequence[Table]) -> Sequence[Target]:
    """What a kind of sinks writes of each table."""
    from tests.torture.databases.mariadb import mariadb_targets
    from tests.torture.databases.postgres import postgres_targets
    from tests.torture.databases.write_modes import duckdb_targets, mariadb_modes_targets, postgres_modes_targets
    from tests.torture.iceberg import iceberg_modes_targets, iceberg_targets
    from tests.torture.kafka import kafka_targets
    from tests.torture.remote import SERVERS, remote_targets

    known = {
        "file": file_targets,
        "iceberg": iceberg_targets,
        "postgres": postgres_targets,
        "mariadb": mariadb_targets,
        "kafka": kafka_targets,
        "duckdb": duckdb_targets,
        "iceberg-modes": iceberg_modes_targets,
        "postgres-modes": postgres_modes_targets,
        "mariadb-modes": mariadb_modes_targets,
    }
    known |= {name: partial(remote_targets, name) for name in SERVERS}
    make_targets = known.get(sink) or partial(in_formats, sink.split(","))
    return make_targets(out, tables)  # type: ignore[arg-type]


def file_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    """A folder for each table, two for the first one."""
    targets: list[Target] = []
    for table in tables:
        if table.name == "letters":
            parts = "have_partition = true, partition_by = [kind]"
            targets.append(Target(table=table, folder=out / "letters-parquet", format="parquet", more=parts))
            targets.append(Target(table=table, folder=out / "letters-csv", format="csv", more="batch_size = 900"))
        else:
            folder_of_table = out / table.name
            if table.name == "planes":
                leave_old_file(folder_of_table)
                targets.append(Target(table=table, folder=folder_of_table, format="json", more=_DROP))
            else:
                targets.append(Target(table=table, folder=folder_of_table, format="parquet"))
    return targets


def in_formats(formats: Sequence[str], out: Path, tables: Sequence[Table]) -> list[Target]:
    """The made-up table in each format, in parts and in small files by turns, and the others by turns in one of them.

    ``text`` cannot hold the line ends of the made-up table: it gets both of the others.
    """
    from tests.torture.copies import Copied, Copies

    of_rows = [format for format in formats if format != "binary"]
    targets: list[Target] = []
    for number, table in enumerate(tables):
        if isinstance(table, Copied):
            targets.append(Copies(table=table, folder=out / table.name, format="binary"))
        elif table.name == "letters":
            for turn, format in enumerate(each for each in of_rows if each != "text"):
                more = ("have_partition = true, partition_by = [kind]", "batch_size = 300")[turn % 2]
                targets.append(Target(table=table, folder=out / f"letters-{format}", format=format, more=more))
        else:
            mine = {*of_rows[number % 2 :: 2], *(each for each in of_rows if each == "text" or len(of_rows) == 1)}
            for format in sorted(mine):
                targets.append(Target(table=table, folder=out / f"{table.name}-{format}", format=format))
    return targets
