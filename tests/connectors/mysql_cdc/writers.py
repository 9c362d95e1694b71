"""Writers of a table: inserts, updates, deletes and changed keys over several connections, each commit durable."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from attrs import define, field

KEYS = 4_000
"""Keys are at most twice this number."""


def integer(number: int) -> int:
    return number


def text(number: int) -> str:
    """Keys whose order in ``utf8mb4_general_ci`` is not that of their bytes."""
    letters = "aÄbÉcßdÖ"
    return f"{letters[number % 8]}{'Xy'[number // 8 % 2]}-{number}"


@define
class Writers:
    """Threads that write into ``t`` and ``u``; the sum of ``u.a`` over both tables is always zero."""

    server: Any
    key: Callable[[int], Any] = integer
    number: int = 6
    transactions: int = 0
    _threads: list[threading.Thread] = field(init=False, factory=list)
    _over: threading.Event = field(init=False, factory=threading.Event)
    _failures: list[BaseException] = field(init=False, factory=list)

    def create(self, declared: str = "int", rows: int = KEYS) -> None:
        columns = f"(id {declared} PRIMARY KEY, a int NOT NULL, b varchar(50))"
        self.server.run(f"CREATE TABLE t {columns}", f"CREATE TABLE u {columns}")
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            for table, sign in (("t", 1), ("u", -1)):
                values = [(self.key(number * 2), sign * (number % 10), f"row {number}") for number in range(rows)]
                cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s)", values)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(self.number)]
        for each in self._threads:
            each.start()
        try:
            yield
        finally:
            self.end()
        if self._failures:
            raise self._failures[0]

    def stop(self) -> None:
        self._over.set()

    @property
    def failed(self) -> bool:
        return bool(self._failures)

    def end(self) -> None:
        """Return when their last transactions have ended."""
        self.stop()
        for each in self._threads:
            each.join()

    def _write(self, seed: int) -> None:
        chosen = random.Random(seed)
        try:
            with closing(self.server.connect()) as connection, connection.cursor() as cursor:
                while not self._over.is_set():
                    self._transaction(chosen, cursor)
        except BaseException as error:
            self._failures.append(error)

    def _transaction(self, chosen: random.Random, cursor: Any) -> None:
        import pymysql

        try:
            cursor.execute("BEGIN")
            amount = chosen.randrange(1, 100)
            for table, sign in (("t", 1), ("u", -1)):
                self._change(chosen, cursor, table, sign * amount)
            cursor.execute("COMMIT")
            self.transactions += 1
        except pymysql.err.MySQLError as error:
            if error.args[0] not in (1062, 1205, 1213):
                raise
            cursor.execute("ROLLBACK")

    def _change(self, chosen: random.Random, cursor: Any, table: str, amount: int) -> None:
        """Add an amount to the sum of a table, and change other rows."""
        key, other = (self.key(chosen.randrange(KEYS * 2)) for _ in range(2))
        kind = chosen.randrange(4)
        if kind == 0:
            cursor.execute(f"SELECT a FROM {table} WHERE id = %s FOR UPDATE", (key,))
            found = cursor.fetchone()
            cursor.execute(f"DELETE FROM {table} WHERE id = %s", (key,))
            amount += found[0] if found else 0
        elif kind == 1:
            cursor.execute(f"UPDATE {table} SET id = %s, b = %s WHERE id = %s", (other, f"moved {time.time()}", key))
        elif kind == 2:
            cursor.execute(f"UPDATE {table} SET b = %s WHERE id = %s", (f"changed {time.time()}", key))
        cursor.execute(
            f"INSERT INTO {table} VALUES (%s, %s, 'new') ON DUPLICATE KEY UPDATE a = a + VALUES(a)", (other, amount)
        )
