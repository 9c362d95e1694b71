"""A storm of writers: transactions over two tables, after each of which the amounts of both add up to zero.

Each writer has a connection and its own keys, so it knows its rows; some rows belong to all. Transactions insert,
update and delete rows, change keys, undo a part of themselves, or roll back as a whole. Commits are durable.
"""

import random
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from attrs import define, field

from tests.cdc.captured import Captured
from tests.cdc.keys import KEYS, Keys

TABLES = ("credit", "debit")
HOT = 8
"""Number of rows of each table that all writers update."""

RANGE = 1_000_000
"""Keys are made of numbers below this."""

_ANCHORS = 3
"""Each third row is never changed: once all of them are in the target, its snapshot is complete."""

_RECONNECT_S = 0.5
_TEXTS = ("", "plain", "ä ö ü – “quoted”", "back\\slash 'quote' \"double\"", "tab\tand\nline", "日本語 🐘")


@define
class Writer:
    """One connection and the rows that only it changes."""

    storm: "Storm"
    number: int
    rng: random.Random
    rows: dict[str, dict[int, int]]
    """Amount by number of the key, by table."""

    committed: int = 0
    repeated: int = 0
    """Transactions that were run again after a deadlock."""

    def work(self, pause_s: float) -> None:
        """Write until the storm ends, across restarts of the server if the storm survives them."""
        lost = False
        while not self.storm.over.is_set():
            try:
                with closing(self.storm.captured.connect(self.storm.database)) as connection:
                    if lost:
                        self._recall(connection)
                    lost = False
                    while not self.storm.over.is_set():
                        self._transact(connection)
                        self.storm.over.wait(self.rng.uniform(0, 2 * pause_s))
            except Exception as error:
                if not (self.storm.survives_restarts and self.storm.captured.is_lost(error)):
                    raise
                lost = True
                self.storm.over.wait(_RECONNECT_S)

    def _recall(self, connection: Any) -> None:
        """Read this writer's rows: whether its last transaction was committed is unknown after a crash."""
        for table in TABLES:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT id, amount FROM {table}")
                self.rows[table] = {
                    int(number): int(amount)
                    for number, amount in cursor.fetchall()
                    if self.storm.owner(int(number)) == self.number
                }

    def _transact(self, connection: Any) -> None:
        before = {table: dict(rows) for table, rows in self.rows.items()}
        act = self.rng.choice((self._insert, self._insert, self._move, self._move, self._delete, self._rename))
        try:
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                for _ in range(self.rng.choice((1, 1, 1, 3))):
                    act(cursor)
                if self.rng.random() < 0.5:
                    self._move_hot(cursor)
                if self.rng.random() < 0.2:
                    self._undo_a_part(cursor)
                rolls_back = self.rng.random() < 0.1
                cursor.execute("ROLLBACK" if rolls_back else "COMMIT")
        except Exception as error:
            if self.storm.captured.code(error) not in self.storm.captured.deadlocks:
                raise
            self.repeated += 1
            self.rows = before
            with connection.cursor() as cursor:
                cursor.execute("ROLLBACK")
            return
        if rolls_back:
            self.rows = before
        else:
            self.committed += 1

    # -- what a transaction does ----------------------------------------------------------------------------------

    def _insert(self, cursor: Any) -> None:
        amount = self.rng.randrange(-1000, 1000)
        for table, value in zip(TABLES, (amount, -amount), strict=True):
            number = self._new_number()
            self.storm.insert(cursor, table, number, value, self.rng)
            self.rows[table][number] = value

    def _move(self, cursor: Any) -> None:
        amount = self.rng.randrange(1, 500)
        for table, value in zip(TABLES, (amount, -amount), strict=True):
            number = self._own(table)
            self.rows[table][number] += value
            self.storm.update(cursor, table, number, f"amount = {self.rows[table][number]}", self.rng)

    def _move_hot(self, cursor: Any) -> None:
        amount, number = self.rng.randrange(1, 500), self.rng.randrange(HOT)
        for table, sign in zip(TABLES, "+-", strict=True):
            self.storm.update(cursor, table, number, f"amount = amount {sign} {amount}", self.rng)

    def _delete(self, cursor: Any) -> None:
        for table in TABLES:
            if len(self.rows[table]) < 20:
                return self._insert(cursor)
        for table in TABLES:
            number = self._own(table)
            amount = self.rows[table].pop(number)
            self.storm.delete(cursor, table, number)
            other = self._own(table)
            self.rows[table][other] += amount
            self.storm.update(cursor, table, other, f"amount = {self.rows[table][other]}", self.rng)
        return None

    def _rename(self, cursor: Any) -> None:
        """Give a row another key, near or far away."""
        for table in TABLES:
            old, new = self._own(table), self._new_number()
            self.rows[table][new] = self.rows[table].pop(old)
            self.storm.change_key(cursor, table, old, new)

    def _undo_a_part(self, cursor: Any) -> None:
        before = {table: dict(rows) for table, rows in self.rows.items()}
        cursor.execute("SAVEPOINT part")
        self._insert(cursor)
        self._move(cursor)
        cursor.execute("ROLLBACK TO SAVEPOINT part")
        self.rows = before

    def _own(self, table: str) -> int:
        return self.rng.choice(list(self.rows[table]))

    def _new_number(self) -> int:
        """Return the number of a key that no row has; writers share none."""
        writers = self.storm.writers
        while True:
            number = HOT + self.rng.randrange((RANGE - HOT) // writers - 1) * writers + self.number
            if number not in self.storm.anchors and not any(number in rows for rows in self.rows.values()):
                return number


@define(kw_only=True)
class Storm:
    """The tables and the writers of one source database."""

    captured: Captured
    database: str
    keys: Keys = field(factory=lambda: KEYS["numbers"])
    writers: int = 6
    rows: int = 600
    """Rows that each table has at the start."""

    per_second: float = 120.0
    """Transactions of all writers together, at most."""

    seed: int = 1
    survives_restarts: bool = False
    """True if writers connect again after the server was killed; only with the keys ``numbers``."""

    over: threading.Event = field(init=False, factory=threading.Event)
    errors: list[BaseException] = field(init=False, factory=list)
    _all: list[Writer] = field(init=False, factory=list)
    _threads: list[threading.Thread] = field(init=False, factory=list)
    _known: dict[str, dict[int, int]] = field(init=False, factory=dict)
    anchors: frozenset[int] = field(init=False, default=frozenset())
    """Numbers of the rows that no writer changes."""

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that are captured; the last one has no amounts."""
        return (*TABLES, "beacon")

    @property
    def committed(self) -> int:
        """Number of transactions so far."""
        return sum(writer.committed for writer in self._all)

    @property
    def repeated(self) -> int:
        """Number of transactions that were run again after a deadlock."""
        return sum(writer.repeated for writer in self._all)

    def make_tables(self) -> None:
        """Create and fill the tables."""
        self.captured.recreate(self.database)
        types, key = self.captured.types, self.keys.columns(self.captured.name)
        columns = {
            **key,
            "amount": f"{types['id']} NOT NULL",
            "note": types["text"],
            "price": types["decimal"],
            "changed": types["time"],
            "raw": types["bytes"],
        }
        told = ", ".join(f"{name} {type}" for name, type in columns.items())
        for table in TABLES:
            self.captured.run(self.database, f"CREATE TABLE {table} ({told}, PRIMARY KEY ({', '.join(key)}))")
        self.captured.run(self.database, "CREATE TABLE beacon (id int PRIMARY KEY)")
        rng = random.Random(self.seed)
        numbers = [*range(HOT), *sorted(rng.sample(range(HOT, RANGE), self.rows - HOT))]
        self.anchors = frozenset(numbers[HOT::_ANCHORS])
        with closing(self.captured.connect(self.database)) as connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            for table, sign in zip(TABLES, (1, -1), strict=True):
                self._known[table] = {number: sign * (number % 100) for number in numbers}
                for number, amount in self._known[table].items():
                    self.insert(cursor, table, number, amount, rng)
            cursor.execute("INSERT INTO beacon VALUES (0)")
            cursor.execute("COMMIT")

    def begin(self) -> None:
        """Start the writers."""
        self.over.clear()
        for number in range(self.writers):
            rows = {
                table: {each: amount for each, amount in rows.items() if self.owner(each) == number}
                for table, rows in self._known.items()
            }
            self._all.append(Writer(self, number, random.Random(f"{self.seed}-{number}"), rows))
        self._threads = [threading.Thread(target=self._watched, args=(writer,)) for writer in self._all]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Stop the writers; raise what one of them raised."""
        self.over.set()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def light_beacon(self, number: int) -> bool:
        """Add a row to the table that marks a position in the log, unless an earlier call has; return True."""
        if not self.captured.run(self.database, f"SELECT id FROM beacon WHERE id = {number}"):
            self.captured.run(self.database, f"INSERT INTO beacon VALUES ({number})")
        return True

    def owner(self, number: int) -> int:
        """Return the number of the writer that changes a row; -1 for those of all and of none."""
        return -1 if number < HOT or number in self.anchors else (number - HOT) % self.writers

    def _watched(self, writer: Writer) -> None:
        try:
            writer.work(self.writers / self.per_second)
        except BaseException as error:
            self.errors.append(error)

    # -- statements -----------------------------------------------------------------------------------------------

    def insert(self, cursor: Any, table: str, number: int, amount: int, rng: random.Random) -> None:
        key = self.keys.of(number)
        marks = ", ".join(["%s"] * (len(key) + 5))
        cursor.execute(f"INSERT INTO {table} VALUES ({marks})", (*key, amount, *_values(rng)))

    def update(self, cursor: Any, table: str, number: int, change: str, rng: random.Random) -> None:
        note, price, changed, raw = _values(rng)
        more = ", note = %s, price = %s, changed = %s, raw = %s" if rng.random() < 0.7 else ""
        values = (note, price, changed, raw) if more else ()
        cursor.execute(f"UPDATE {table} SET {change}{more} WHERE {self._where()}", (*values, *self.keys.of(number)))

    def delete(self, cursor: Any, table: str, number: int) -> None:
        cursor.execute(f"DELETE FROM {table} WHERE {self._where()}", self.keys.of(number))
        _require_one(cursor, table, number)

    def change_key(self, cursor: Any, table: str, old: int, new: int) -> None:
        change = ", ".join(f"{name} = %s" for name in self._key())
        values = (*self.keys.of(new), *self.keys.of(old))
        cursor.execute(f"UPDATE {table} SET {change} WHERE {self._where()}", values)
        _require_one(cursor, table, old)

    def _where(self) -> str:
        return " AND ".join(f"{name} = %s" for name in self._key())

    def _key(self) -> Sequence[str]:
        return tuple(self.keys.columns(self.captured.name))


def _require_one(cursor: Any, table: str, number: int) -> None:
    assert cursor.rowcount == 1, f"{table} has {cursor.rowcount} rows of number {number}"


def _values(rng: random.Random) -> tuple[Any, ...]:
    note = rng.choice((None, *_TEXTS, "x" * rng.randrange(150)))
    price = None if rng.random() < 0.2 else f"{rng.randrange(-(10**9), 10**9) / 10_000:.4f}"
    day = f"2025-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
    moment = f"{day} {rng.randrange(24):02d}:00:00.{rng.randrange(10**6):06d}"
    raw = None if rng.random() < 0.3 else rng.randbytes(rng.randrange(20))
    return note, price, None if rng.random() < 0.1 else moment, raw


def wait_until(condition: Any, patience_s: float, what: str) -> None:
    """Wait for something that happens.

    Raises:
        TimeoutError: It did not happen in time.
    """
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not in {patience_s:.0f} s")
        time.sleep(0.05)
