"""The streaming job of the soak: what its files say, who writes its input, and who reads its output."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
from attrs import define, field, frozen

from seatunnel_core.spark.starting.archived_classes import FOLDER
from tests.torture.job import files_below
from tests.torture.process import ARCHIVES, Engine

READERS = 2
ROWS_PER_SPLIT = 100
SCAN_MS = 3_000
AGE_TO_DELETE_S = 20.0

_ENGINE = """seatunnel:
  engine:
    checkpoint:
      storage:
        type: hdfs
        max-retained: 3
        plugin-config:
          storage.type: hdfs
          fs.defaultFS: file:///
          namespace: {folder}/state/
"""

_JOB = """env {{
  job.name = "soak"
  job.mode = "STREAMING"
  parallelism = {readers}
  checkpoint.interval = 2000
}}

source {{
  FakeSource {{
    plugin_output = "made-up"
    row.num = {rows}
    split.num = {splits}
    split.read-interval = 1000
    auto.increment.enabled = true
    schema {{ fields {{ id = bigint, text = string }} }}
  }}
  LocalFile {{
    plugin_output = "watched"
    path = "{folder}/in"
    file_format_type = "csv"
    discovery_mode = "continuous"
    scan_interval = {scan_ms}
    schema {{ fields {{ id = bigint, text = string }} }}
  }}
}}

sink {{
  LocalFile {{ plugin_input = "made-up", path = "{folder}/out/made-up", file_format_type = "parquet" }}
  LocalFile {{ plugin_input = "watched", path = "{folder}/out/watched", file_format_type = "parquet" }}
}}
"""


@frozen(kw_only=True)
class SoakJob:
    """One job in a folder of its own, with one pipeline for made-up rows and one for a watched folder."""

    folder: Path
    splits: int
    """Of each parallel reader of the made-up rows: one a second, so more than the soak has seconds."""

    job_id: str = "soak"

    def write(self) -> None:
        (self.folder / "in").mkdir(parents=True)
        rows = self.splits * ROWS_PER_SPLIT
        text = _JOB.format(folder=self.folder, rows=rows, splits=self.splits, readers=READERS, scan_ms=SCAN_MS)
        (self.folder / "job.conf").write_text(text, "utf-8")
        (self.folder / "seatunnel.yaml").write_text(_ENGINE.format(folder=self.folder), "utf-8")

    def start(self, number: int) -> Engine:
        """The job's first process, or one that goes on with it."""
        how = "-r" if any(files_below(self.folder / "state" / self.job_id)) else "--set-job-id"
        files = ["-c", str(self.folder / "job.conf"), "--engine-config", str(self.folder / "seatunnel.yaml")]
        return self._command(*files, "-DJvmOption=-Xmx512m", how, self.job_id, log=f"output-{number}.log")

    def drain(self) -> Engine:
        """Another process, which asks the job to finish what it has read and to stop."""
        return self._command("-s", self.job_id, "--drain", log="drain.log")

    def _command(self, *arguments: str, log: str) -> Engine:
        environment = {"HOME": str(self.folder / "home"), "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", FOLDER: ARCHIVES}
        environment |= {"XDG_RUNTIME_DIR": "", "TMPDIR": str(self.folder), "SPARK_LOCAL_DIRS": str(self.folder)}
        return Engine(arguments, log=self.folder / log, environment=environment)

    def state_bytes(self) -> int:
        """The size of the largest checkpoint that is stored."""
        sizes = [Path(path).stat().st_size for path in files_below(self.folder / "state") if path.endswith(".ckpt")]
        return max(sizes, default=0)

    def judge_made_up(self, ids: Iterable[int]) -> str:
        """Each reader gives its rows in order, and all that was emitted was committed: a beginning without a gap."""
        rows = self.splits * ROWS_PER_SPLIT
        found = sorted(ids)
        for reader in range(READERS):
            own = [each for each in found if reader * rows < each <= (reader + 1) * rows]
            if own != list(range(reader * rows + 1, reader * rows + 1 + len(own))):
                return f"of the {len(own):,} rows that reader {reader} made up, some are missing"
            if not own:
                return f"reader {reader} made up no row"
        return ""


class Writer(threading.Thread):
    """Adds files to a folder, in the ways in which people do, until it is told to stop, and removes what was read."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(daemon=True)
        self.rows = 0
        self.files = 0
        self._folder = folder
        self._rng = rng
        self._stopping = threading.Event()
        self._there: dict[Path, tuple[range, float]] = {}

    def run(self) -> None:
        while not self._stopping.wait(self._rng.uniform(0.2, 2)):
            self._add(self._rng.randint(1, 300))

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def _add(self, count: int) -> None:
        ids = range(self.rows + 1, self.rows + 1 + count)
        lines = [f"{each},text {each}\n" for each in ids]
        path = self._folder / f"{self._rng.randrange(10**9):09}-{self.files}.csv"  # in no order
        way = self._rng.choice(["hidden", "ending", "in place"])
        if way == "in place":
            with path.open("w", encoding="utf-8") as file:
                file.writelines(lines[: count // 2])
                file.flush()
                time.sleep(0.1)
                file.writelines(lines[count // 2 :])
        else:
            beside = path.with_name(f".{path.name}" if way == "hidden" else f"{path.name}.tmp")
            beside.write_text("".join(lines), "utf-8")
            beside.rename(path)
        self.rows += count
        self.files += 1
        self._there[path] = ids, time.monotonic()

    def remove_read(self, published: Counter[int]) -> None:
        """Files of which all rows are published, and which are not of the last seconds, are read by nobody again."""
        for path, (ids, added) in list(self._there.items()):
            if time.monotonic() - added > AGE_TO_DELETE_S and all(each in published for each in ids):
                path.unlink()
                del self._there[path]

    @property
    def files_there(self) -> int:
        return len(self._there)


@define
class Reader:
    """Reads what a sink has published with Arrow's own reader, each file once."""

    folder: Path
    ids: Counter[int] = field(factory=Counter)
    _read: set[str] = field(factory=set)

    def read_published(self) -> None:
        for path in files_below(self.folder, hidden=False):
            if path not in self._read:
                self._read.add(path)
                self.ids.update(pq.ParquetFile(path).read(columns=["id"]).column("id").to_pylist())

    @property
    def files(self) -> int:
        return len(self._read)

    def twice(self) -> list[int]:
        return sorted(each for each, times in self.ids.items() if times > 1)
