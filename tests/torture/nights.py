"""A job that loads what is new, night after night: ``python -m tests.torture.nights --nights 100 --kills 50``.

A table changes all day and while the job reads it: rows come, change, and come late, and now and then the table has one
more column, which is then added to the target. Each night the same command is typed until it ends with 0; most of its
processes are killed at a random moment, with everything that they started. The rows go into files, where a row that
comes twice is seen, and into a table with a key, which has to be equal to the source in the end. With ``--source http``
the job asks a service for the rows, page by page.
"""

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import define, field

from seatunnel_core.claiming.increments import acknowledged, load
from seatunnel_core.connector_api.increments import digest
from seatunnel_storage_api.discovery import open_storage
from tests.runtime.command import Command, published
from tests.servers.http_service import Asked, http_service
from tests.torture.process import Engine

LAG = timedelta(minutes=20)
EARLIEST = datetime(2025, 1, 1)
PATIENCE_S = 180.0
_NAME = "nightly"
_PAGE_ROWS = 40
_GROWS = 0.1
"""How likely the table has one more column in a night."""

JDBC = """
  Jdbc {{
    plugin_output = orders
    url = "jdbc:sqlite:{folder}/shop.db"
    table_path = orders
    split.size = 25
    incremental {{ column = changed, lag = 20m }}
  }}
"""
HTTP = """
  Http {{
    plugin_output = orders
    url = "{url}/orders"
    content_field = "$.rows[*]"
    schema {{ fields {{ id = bigint, amount = bigint, changed = timestamp }} }}
    pageing {{ page_type = Cursor, cursor_field = behind, cursor_response_field = "$.next" }}
    incremental {{ column = changed, lag = 20m, key = [id], param = since }}
  }}
"""
JOB = """
env {{ job.name = {name}, job.mode = BATCH, parallelism = 2, checkpoint.interval = 100
      read_limit.rows_per_second = 300 }}
source {{ {source} }}
sink {{
  LocalFile {{ path = "{folder}/out", file_format_type = json }}
  Jdbc {{
    url = "jdbc:sqlite:{folder}/warehouse.db"
    generate_sink_sql = true
    table = orders
    primary_keys = [id]
    is_exactly_once = true
  }}
}}
"""


class NightsError(Exception):
    """What the job did wrong."""


@define
class Shop:
    """The source: a table in which each version of a row has a time of its own."""

    file: Path
    rng: random.Random
    now: datetime = EARLIEST
    rows: int = 0
    late: int = 0
    columns: tuple[str, ...] = ("id", "amount", "changed")
    lock: threading.Lock = field(factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        run(self.file, "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER, changed TIMESTAMP)", [()])

    def pass_time(self, minutes: int, rows: int) -> None:
        """Let rows come and change; some have a time within the lag that is older than that of others before them."""
        with self.lock:
            known = dict(self.versions())
            changes: dict[int, str] = {}
            for _ in range(rows):
                self.now += timedelta(seconds=60 * minutes / rows)
                moment = self.now.replace(microsecond=0)
                if self.rng.random() < 0.2:
                    moment -= timedelta(seconds=self.rng.randrange(int(LAG.total_seconds()) - 120))
                number = self.rng.randrange(self.rows) if self.rows and self.rng.random() < 0.3 else self.rows
                if str(moment) <= max(known.get(number, ""), changes.get(number, "")):
                    continue  # a row never changes back
                self.late += moment < self.now.replace(microsecond=0)
                self.rows = max(self.rows, number + 1)
                changes[number] = str(moment)
            more = len(self.columns) - 3
            values = [
                (number, self.rng.randrange(10**6), moment, *(self.rng.randrange(100) for _ in range(more)))
                for number, moment in changes.items()
            ]
            run(self.file, f"INSERT OR REPLACE INTO orders VALUES ({', '.join('?' * len(self.columns))})", values)

    def grow(self, target: Path) -> None:
        """Add a column here, and in the target, as its owner does before the next night."""
        with self.lock:
            name = f"more_{len(self.columns) - 2}"
            for file in (self.file, target):
                run(file, f"ALTER TABLE orders ADD COLUMN {name} INTEGER", [()])
            self.columns += (name,)

    def page(self, asked: Asked) -> dict[str, Any]:
        """Answer as a service does whose pages keep their rows: each begins behind the last row of the one before."""
        since = asked.query.get("since", "").replace("T", " ")
        changed, number = asked.query.get("behind", "@-1").split("@")
        found = ask(
            self.file,
            "SELECT id, amount, changed FROM orders WHERE changed >= ? AND (changed, id) > (?, ?) "
            "ORDER BY changed, id LIMIT ?",
            (since, changed, int(number), _PAGE_ROWS),
        )
        rows = [dict(zip(("id", "amount", "changed"), row, strict=True)) for row in found]
        following = f"{rows[-1]['changed']}@{rows[-1]['id']}" if len(rows) == _PAGE_ROWS else None
        return {"rows": rows, "next": following}

    def versions(self) -> list[tuple[int, str]]:
        return ask(self.file, "SELECT id, changed FROM orders")


def run(file: Path, statement: str, values: Sequence[Sequence[object]]) -> None:
    with closing(sqlite3.connect(file, timeout=60)) as database:
        database.executemany(statement, values)
        database.commit()


def ask(file: Path, statement: str, values: Sequence[object] = ()) -> list[Any]:
    with closing(sqlite3.connect(file, timeout=60)) as database:
        return database.execute(statement, values).fetchall()


@define
class Nights:
    """One campaign, from the first night to the judgement."""

    folder: Path
    nights: int
    most_kills: int
    rng: random.Random
    source: str
    tell: Callable[[str], None]
    kills: int = 0
    kills_with_rows: int = 0
    """After the claim and before the end: what was read is fixed, and not all of it is written."""

    grown: int = 0
    """How many columns were added."""

    took_s: float = 8.0

    def play(self) -> None:
        """Run to the end.

        Raises:
            NightsError: A row was lost or came twice, or cursor and rows do not agree.
        """
        shop = Shop(self.folder / "shop.db", self.rng)
        shop.pass_time(600, 400)
        with http_service() as service:
            service.at["/orders"] = shop.page
            source = (JDBC if self.source == "jdbc" else HTTP).format(folder=self.folder, url=service.url)
            command = Command.of(self.folder, JOB.format(name=_NAME, folder=self.folder, source=source))
            self._play(command, shop)

    def _play(self, command: Command, shop: Shop) -> None:
        for night in range(1, self.nights + 1):
            if night > 1 and self.source == "jdbc" and self.rng.random() < _GROWS:
                shop.grow(self.folder / "warehouse.db")
                self.grown += 1
            shop.pass_time(60, self.rng.randrange(1, 200))
            left = self.most_kills - self.kills
            lives = self._night(command, shop, risk=min(0.75, left / (left + self.nights - night + 1)))
            delivered = self._judge(shop)
            self.tell(f"night {night}: {lives} processes, {delivered} rows, {self.kills} kills so far")
        self._night(command, shop, risk=0, busy=False)
        self._judge(shop)
        whole = f"SELECT {', '.join(shop.columns)} FROM orders ORDER BY id"
        source, target = ask(shop.file, whole), ask(self.folder / "warehouse.db", whole)
        if list(map(str, source)) != list(map(str, target)):
            raise NightsError(f"the table with a key differs from the source: {len(target)} rows, {len(source)} there")
        self.tell(
            f"{self.nights} nights, {self.kills} kills, {self.kills_with_rows} of them between the claim and the end; "
            f"{self.grown} columns added; {len(source)} rows in the end, {shop.late} of all versions late: 0 lost, "
            "0 doubled, target equals source"
        )

    def _night(self, command: Command, shop: Shop, *, risk: float, busy: bool = True) -> int:
        """Type the command until it ends with 0, and return how often that was; ``risk`` is that of each process."""
        for life in range(1, 20):
            engine = command.start()
            ends = threading.Event()
            writer = threading.Thread(target=self._write, args=(shop, ends))
            if busy:
                writer.start()
            try:
                if self.kills < self.most_kills and self.rng.random() < risk:
                    self._kill(engine)
                else:
                    started = time.monotonic()
                    engine.wait(PATIENCE_S)
                    self.took_s = time.monotonic() - started
            finally:
                ends.set()
                if busy:
                    writer.join()
                engine.end()
            if engine.exit_code == 0:
                return life
            if engine.exit_code != -9:
                raise NightsError(f"the job ended with {engine.exit_code}:\n{engine.output[-4000:]}")
        raise NightsError("the job does not come to its end")

    def _write(self, shop: Shop, ends: threading.Event) -> None:
        while not ends.wait(0.2):
            shop.pass_time(1, 3)

    def _kill(self, engine: Engine) -> None:
        """Kill all its processes at a random moment; later ones are drawn as often as early ones."""
        deadline = time.monotonic() + self.rng.uniform(0.5, self.took_s)
        while time.monotonic() < deadline and engine.exit_code is None:
            time.sleep(0.01)
        if engine.exit_code is not None:
            return
        engine.end()
        self.kills += 1
        with open_storage("hdfs", {"namespace": f"{self.folder}/state/"}) as storage:
            self.kills_with_rows += acknowledged(storage, load(storage, _NAME)) is None
        self._delivered()

    def _delivered(self) -> Counter[tuple[int, str]]:
        """Return how often each version of a row is in the files.

        Raises:
            NightsError: One is there twice.
        """
        came: Counter[tuple[int, str]] = Counter()
        for file in published(self.folder / "out") if (self.folder / "out").exists() else ():
            rows = (json.loads(line) for line in file.read_text("utf-8").splitlines())
            came.update((row["id"], row["changed"].replace("T", " ")) for row in rows)
        twice = [version for version, times in came.items() if times > 1]
        if twice:
            raise NightsError(f"{len(twice)} rows came twice, such as {twice[0]}")
        return came

    def _judge(self, shop: Shop) -> int:
        """Return how many rows are in the files.

        Raises:
            NightsError: They are not those of which the cursor says that they are there.
        """
        came = self._delivered()
        with open_storage("hdfs", {"namespace": f"{self.folder}/state/"}) as storage:
            state = load(storage, _NAME)
        cursor = state.sources["orders"].cursor
        if not state.is_done or cursor is None or cursor.since is None:
            raise NightsError(f"the end of the job {state.job_id} was not noted")
        for number, changed in shop.versions():
            since, value = (text.replace("T", " ") for text in (cursor.since, cursor.value))
            covered = changed < since or (
                changed <= value and digest((number, datetime.fromisoformat(changed))) in cursor.delivered
            )
            if covered != ((number, changed) in came):
                raise NightsError(
                    f"the row {number} of {changed} is {'lost' if covered else 'there before the cursor says so'}; the "
                    f"cursor is {cursor.value}, since {cursor.since}"
                )
        return sum(came.values())


def nights(
    count: int, *, kills: int, seed: int, folder: Path, source: str = "jdbc", tell: Callable[[str], None] = print
) -> Nights:
    """Play a campaign and return it.

    Raises:
        NightsError: The job did something wrong.
    """
    found = Nights(folder=folder, nights=count, most_kills=kills, rng=random.Random(seed), source=source, tell=tell)
    found.play()
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.torture.nights", description=str(__doc__))
    parser.add_argument("--nights", type=int, default=100)
    parser.add_argument("--kills", type=int, default=50, help="at most")
    parser.add_argument("--source", choices=("jdbc", "http"), default="jdbc")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    values = parser.parse_args(argv)
    print(f"seed {values.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="nights-") as folder:
        try:
            nights(
                values.nights,
                kills=values.kills,
                seed=values.seed,
                folder=Path(folder),
                source=values.source,
                tell=_say,
            )
        except NightsError as error:
            print(f"WRONG: {error}", flush=True)
            return 1
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
