"""Compare the databases ``shop`` and ``copy`` row by row, in PostgreSQL's format and without the engine's code.

``compare.py`` prints whether each table is equal; its exit code is 0 if all tables are equal. With ``--wait SECONDS``
it waits for the copy to catch up, which happens only after all writers have stopped. ``compare.py --watch SECONDS``
repeatedly reads the sum of all balances in the copy, which is zero in each state of the shop.
"""

import argparse
import sys
import time
from typing import Any

from writer import connect

TABLES = ("accounts", "transfers")


def main() -> int:
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__)
    parser.add_argument("--wait", type=float, default=0, help="how long to wait for the copy")
    parser.add_argument("--watch", type=float, default=0, help="how long to watch the sum of all balances")
    arguments = parser.parse_args()
    if arguments.watch:
        return watch(arguments.watch)
    deadline = time.monotonic() + arguments.wait
    while not all(rows("shop", table) == rows("copy", table) for table in TABLES) and time.monotonic() < deadline:
        time.sleep(0.5)
    return show()


def show() -> int:
    wrong = 0
    for table in TABLES:
        source, target = rows("shop", table), rows("copy", table)
        wrong += source != target
        print(f"  {table}: {len(source):,} rows, {len(target):,} in the copy, {'NOT ' * (source != target)}equal")
        for row in sorted(source ^ target)[:3]:
            print(f"    {'missing' if row in source else 'too many'}: {row}")
    print("Every row is the same." if not wrong else "The copy is NOT what it should be.")
    return 1 if wrong else 0


def watch(seconds: float) -> int:
    """Return 0 if the balances add up to zero in every read, otherwise 1."""
    deadline, sums = time.monotonic() + seconds, set()
    looks = 0
    while time.monotonic() < deadline:
        ((found,),) = ask("copy", "SELECT sum(balance) FROM accounts")
        sums.add(found)
        looks += 1
    shown = ", ".join(sorted("no rows yet" if each is None else str(each) for each in sums))
    print(f"The sum of all balances in the copy, {looks:,} times: {shown}")
    return 0 if sums == {0} else 1


def rows(database: str, table: str) -> set[str]:
    """Return the rows as PostgreSQL formats them; keys make them unique. A missing table has no rows."""
    if not ask(database, f"SELECT FROM pg_tables WHERE tablename = '{table}'"):
        return set()
    names = [name for (name,) in ask(database, f"SELECT column_name FROM information_schema.columns {where(table)}")]
    return {row for (row,) in ask(database, f"SELECT row({', '.join(names)})::text FROM {table}")}


def where(table: str) -> str:
    return f"WHERE table_schema = 'public' AND table_name = '{table}' ORDER BY column_name"


def ask(database: str, query: str) -> list[Any]:
    with connect(database) as connection:
        return list(connection.execute(query).fetchall())


if __name__ == "__main__":
    sys.exit(main())
