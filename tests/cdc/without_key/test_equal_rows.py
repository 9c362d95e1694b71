"""Tables without a key, applied by whole rows: killed jobs, values, and what is refused."""

import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from attrs import define, field

from tests.cdc.captured import COPY, DATABASES, EACH_KIND, Captured
from tests.cdc.comparison import rows_of
from tests.cdc.small_job import PATIENCE_S, SmallJob, small_job
from tests.cdc.steps import Step, between_steps, log_steps, publication_steps, snapshot_steps
from tests.cdc.storm import wait_until
from tests.cdc.test_values import MYSQL, POSTGRES
from tests.torture.process import Engine

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(300)]

SOURCE = "tables-without-key = capture"
SINK = "write_mode = merge, match_whole_rows = true"
ROWS = 3_000


def notes(captured: Captured) -> list[str]:
    """Return the definition of a table without a key, with many equal rows."""
    definitions = ["CREATE TABLE notes (n int, name varchar(20))"]
    if captured.name == "postgres":
        definitions.append("ALTER TABLE notes REPLICA IDENTITY FULL")
    values = ", ".join(f"({n % 7 or 'NULL'}, '{'aA'[n % 2]}')" for n in range(ROWS))
    return [*definitions, f"INSERT INTO notes VALUES {values}"]


@define
class Writers:
    """Connections that change single rows among equal ones, and rows in long transactions."""

    captured: Captured
    statements: int = 0
    errors: list[BaseException] = field(factory=list)
    _over: threading.Event = field(factory=threading.Event)
    _threads: list[threading.Thread] = field(factory=list)

    def begin(self) -> None:
        self._threads = [threading.Thread(target=self._work, args=(seed,), daemon=True) for seed in range(3)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)
        if self.errors:
            raise self.errors[0]

    def _work(self, seed: int) -> None:
        rng = random.Random(seed)
        try:
            with closing(self.captured.connect("small")) as connection, connection.cursor() as cursor:
                while not self._over.is_set():
                    self._transact(cursor, rng)
                    self._over.wait(rng.uniform(0, 0.03))
        except BaseException as error:
            self.errors.append(error)

    def _transact(self, cursor: Any, rng: random.Random) -> None:
        try:
            cursor.execute("BEGIN")
            for _ in range(rng.choice([1, 1, 4])):
                cursor.execute(self._statement(rng))
            cursor.execute("ROLLBACK" if rng.random() < 0.1 else "COMMIT")
            self.statements += 1
        except Exception as error:
            if self.captured.code(error) not in self.captured.deadlocks:
                raise
            cursor.execute("ROLLBACK")

    def _statement(self, rng: random.Random) -> str:
        one = f"name = '{rng.choice('aAb')}'"
        where, limit = f"WHERE {one}", " LIMIT 1"
        if self.captured.name == "postgres":
            where, limit = f"WHERE ctid = (SELECT ctid FROM notes WHERE {one} LIMIT 1)", ""
        return rng.choice(
            [
                f"INSERT INTO notes VALUES ({rng.choice([1, 2, 'NULL'])}, '{rng.choice('aAb')}')",
                f"UPDATE notes SET n = {rng.choice([1, 2, 'NULL'])}, name = '{rng.choice('aAb')}' {where}{limit}",
                f"DELETE FROM notes {where}{limit}",
            ]
        )


@contextmanager
def writing(captured: Captured) -> Iterator[Writers]:
    """Change the table until the end of the block."""
    writers = Writers(captured)
    writers.begin()
    try:
        yield writers
    finally:
        writers.end()


def step(captured: Captured, name: str) -> Step:
    """Return the step with this name."""
    every = (*snapshot_steps(captured), *between_steps(captured), *log_steps(captured), *publication_steps())
    (found,) = [each for each in every if each.name == name]
    return found


KILLS = {
    "postgres": ("rows of a chunk read", "mark taken", "range read, not staged", "commit begins"),
    "mariadb": ("chunk read, not staged", "mark taken", "rows of a range read", "committed, not noticed"),
    "mysql": ("chunk begun", "chunk read, not staged", "a unit recorded"),
    "mysql-gtids": ("mark taken", "checkpoint stored", "range read, not staged"),
}


@pytest.mark.parametrize("database", EACH_KIND)
def test_a_killed_job_copies_equal_rows_once(database: str, tmp_path: Path) -> None:
    captured = DATABASES[database]()
    with small_job(captured, tmp_path / "job", notes(captured), source_options=SOURCE, sink_options=SINK) as small:
        with writing(captured) as writers:
            for name in KILLS[database]:
                engine = small.job.start(step(captured, name))
                told = small.job.kill_file(len(small.job.engines) - 1)
                wait_until(
                    lambda told=told, engine=engine: told.exists() or engine.exit_code is not None, PATIENCE_S, name
                )
                assert told.exists(), engine.output[-4000:]
                assert engine.wait(60) == -9
            engine = small.job.start()
            before = writers.statements
            small.wait(engine, lambda: writers.statements > before + 100, "writers")
        small.wait_until_equal(engine)
        assert len(rows_of(captured, COPY, "notes")[1]) > ROWS // 2
        assert small.job.stop(60) == 130


MORE: dict[str, dict[str, tuple[str, str]]] = {
    "postgres": {
        "c_nan": ("double precision", "'NaN'"),
        "c_zero": ("double precision", "'-0'"),
        "c_small_zero": ("real", "'-0'"),
        "c_precise": ("double precision", "0.1::float8 + 0.2::float8"),
        "c_padded": ("varchar(5)", "'a  '"),
        "c_document": ("json", '\'{"b": 1,  "b": 1.50}\''),
        "c_doubles": ("double precision[]", "'{-0,NaN,NULL,1e300}'"),
        "c_texts": ("text[]", '\'{"a,b","",NULL,"NULL"}\''),
        "c_span": ("interval", "'1 mon -1 day 00:00:01.5'"),
        "c_network": ("inet", "'10.0.0.1/8'"),
    },
    "mysql": {
        "c_zero": ("double", "-0e0"),
        "c_small_zero": ("float", "-0e0"),
        "c_third": ("float", "0.1"),
        "c_precise": ("double", "0.1e0 + 0.2e0"),
        "c_large": ("double", "1.7976931348623157e308"),
        "c_char": ("char(5)", "'a '"),
        "c_padded": ("varchar(5)", "'a  '"),
        "c_nul": ("varchar(5)", "'a\\0b'"),
        "c_flag_bit": ("bit(1)", "b'1'"),
        "c_blob": ("blob", "x'61'"),
    },
}


@pytest.mark.parametrize("exists", [False, True], ids=["created", "existing"])
@pytest.mark.parametrize("database", EACH_KIND)
def test_values_of_every_type_are_matched(database: str, exists: bool, tmp_path: Path) -> None:
    captured = DATABASES[database]()
    columns = {**POSTGRES, **MORE["postgres"]} if captured.name == "postgres" else {**MYSQL, **MORE["mysql"]}
    columns["c_text_case"] = ("varchar(9)", "'a'")
    names = [name for name in columns if name != "c_null"]
    listed = ", ".join(f"{name} {type}" for name, (type, _) in columns.items())
    values = ", ".join(value for _, value in columns.values())
    definitions = [f"CREATE TABLE t ({listed})", f"INSERT INTO t VALUES ({values}), ({values}), ({values})"]
    for name in names:  # almost equal rows: one for each column
        others = ", ".join("NULL" if other == name else value for other, (_, value) in columns.items())
        definitions.append(f"INSERT INTO t VALUES ({others})")
    if captured.name == "postgres":
        definitions.insert(1, "ALTER TABLE t REPLICA IDENTITY FULL")
    whole = " AND ".join(f"{name} IS NOT NULL" for name in names)
    with small_job(captured, tmp_path / "job", definitions, source_options=SOURCE, sink_options=SINK) as small:
        if exists:
            captured.run(COPY, definitions[0])
        engine = small.job.start()

        def wait() -> None:
            """Wait until both tables are equal; in a created table, other types have other texts."""
            if exists:
                small.wait_until_equal(engine)
            else:
                small.wait(engine, lambda: nulls(small.target_rows, names) == nulls(small.source, names), "equal rows")

        wait()
        small.source(one(captured, "UPDATE t SET c_text_case = 'A'", whole), *(
            one(captured, "DELETE FROM t", f"{name} IS NULL") for name in names
        ))  # fmt: skip
        small.source(f"INSERT INTO t VALUES ({values})")
        wait()
        small.source(one(captured, "DELETE FROM t", whole))
        everything = ", ".join(f"{name} = NULL" for name in columns)
        small.source(one(captured, f"UPDATE t SET {everything}", whole))
        wait()
        assert [count for count, _ in nulls(small.target, names)] == [3] * len(names)
        assert small.job.stop(60) == 130


def nulls(ask: Any, names: list[str]) -> list[tuple[int, int]]:
    """Return the number of rows, and for each column the number of its nulls."""
    counted = ", ".join(f"count(*) - count({name})" for name in names)
    found = ask(f"SELECT count(*), {counted} FROM t")
    return [(int(row[0]), int(count)) for row in found for count in row[1:]]


def one(captured: Captured, statement: str, condition: str) -> str:
    """Return the statement that changes one of the rows that meet a condition."""
    if captured.name == "postgres":
        return f"{statement} WHERE ctid = (SELECT ctid FROM t WHERE {condition} LIMIT 1)"
    return f"{statement} WHERE {condition} LIMIT 1"


def test_duckdb_gets_equal_rows(tmp_path: Path) -> None:
    captured = DATABASES["postgres"]()
    definitions = ["CREATE TABLE t (n int, name text, amount double precision, tags text[])"]
    definitions += ["ALTER TABLE t REPLICA IDENTITY FULL"]
    definitions += ["INSERT INTO t SELECT n % 3, 'a', '-0', '{\"a,b\",NULL}' FROM generate_series(1, 900) AS n"]
    with small_job(captured, tmp_path / "job", definitions, source_options=SOURCE, sink_options=SINK) as small:
        file, job = tmp_path / "copy.duckdb", small.folder / "job.conf"
        written = job.read_text("utf-8")
        at = written.index("sink {")
        sink = f'DuckDB {{ path = "{file}", table = "${{table_name}}", {SINK} }}'
        job.write_text(f"{written[:at]}sink {{ {sink} }}\n", "utf-8")
        add = "INSERT INTO t VALUES (9, NULL, 'NaN', '{}'), (9, NULL, 'NaN', '{}'), (9, NULL, '0', NULL)"
        engine = small.job.start()
        small.wait(engine, lambda: counted(file) == {(0, "a"): 300, (1, "a"): 300, (2, "a"): 300}, "the snapshot")
        small.source(add, one(captured, "DELETE FROM t", "n = 9 AND amount = 'NaN'"))
        small.source(one(captured, "UPDATE t SET name = 'b'", "n = 2"), one(captured, "DELETE FROM t", "n = 1"))
        expected = {(0, "a"): 300, (1, "a"): 299, (2, "a"): 299, (2, "b"): 1, (9, None): 2}
        small.wait(engine, lambda: counted(file) == expected, "the changes")
        assert small.job.stop(60) == 130
        with duckdb.connect(str(file), read_only=True) as connection:
            found = connection.execute("SELECT n, amount::VARCHAR, tags FROM t WHERE n IN (2, 9)").fetchall()
        assert sorted(row for row in found if row[0] == 9) == [(9, "0.0", None), (9, "nan", [])]
        assert [row for row in found if row[0] == 2] == [(2, "-0.0", ["a,b", None])] * 300


def counted(file: Path) -> dict[tuple[Any, ...], int] | None:
    """Return the numbers of rows by their first columns; ``None`` while the engine has the file open."""
    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            rows = connection.execute("SELECT n, name, count(*) FROM t GROUP BY ALL").fetchall()
    except duckdb.Error:
        return None
    return {(n, name): count for n, name, count in rows}


def refused(small: SmallJob) -> str:
    """Return the message of ``--check`` for a job that it rejects."""
    done = small.command("--check")
    assert done.returncode != 0
    return done.stdout + done.stderr


def test_rows_that_the_log_does_not_have_are_refused(tmp_path: Path) -> None:
    captured = DATABASES["postgres"]()
    definitions = ["CREATE TABLE t (n int)"]
    with small_job(captured, tmp_path / "job", definitions, source_options=SOURCE, sink_options=SINK) as small:
        assert "REPLICA IDENTITY FULL" in refused(small)
        small.source("ALTER TABLE t ADD UNIQUE (n)", "ALTER TABLE t ALTER n SET NOT NULL")
        small.source("ALTER TABLE t REPLICA IDENTITY USING INDEX t_n_key")
        assert "do not contain all columns; run ALTER TABLE" in refused(small)
        small.source("ALTER TABLE t REPLICA IDENTITY FULL")
        done = small.command("--check")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("sink_options", "source_options", "message"),
    [
        ("write_mode = merge", SOURCE, "match_whole_rows = true"),
        (SINK, "", "tables-without-key = capture"),
        (SINK, f"{SOURCE}, format = COMPATIBLE_DEBEZIUM_JSON", "requires a key"),
        (SINK, f'{SOURCE}, table-names-config = [{{ table = "t", snapshotSplitColumn = n }}]', "read as one chunk"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    sink_options: str, source_options: str, message: str, tmp_path: Path
) -> None:
    captured = DATABASES["postgres"]()
    definitions = ["CREATE TABLE t (n int)", "ALTER TABLE t REPLICA IDENTITY FULL"]
    with small_job(
        captured, tmp_path / "job", definitions, source_options=source_options, sink_options=sink_options
    ) as small:
        assert message in " ".join(refused(small).split())


def test_a_row_that_somebody_changed_at_the_target_stops_the_job(tmp_path: Path) -> None:
    captured = DATABASES["mariadb"]()
    definitions = ["CREATE TABLE notes (n int)", "INSERT INTO notes VALUES (1), (1), (2)"]
    with small_job(captured, tmp_path / "job", definitions, source_options=SOURCE, sink_options=SINK) as small:
        engine: Engine = small.begin()
        small.target("DELETE FROM notes WHERE n = 2")
        small.source("UPDATE notes SET n = 3 WHERE n = 2")
        assert engine.wait(120) != 0
        assert "has no equal row" in engine.output
        assert small.target("SELECT n FROM notes") == [(1,), (1,)]
