"""What a task is: its two programs, its rows, and what has to be in the target in the end."""

from pathlib import Path

from tests.bench.ten_tasks.place import DLT, Place, Servers

PROGRAMS = Path(__file__).parents[3] / "examples" / "beside-dlt"


class Task:
    """One of the ten. A run may have one before it, of the night before, which is not measured."""

    name: str
    title: str
    rows: int
    """How many it moves about."""

    few: int
    """So many in the short form, which shows that the programs work."""

    nights = 1
    """2: what is measured is the second run, into what the first one left."""

    needs_postgres = False
    source = ""
    """The database of PostgreSQL that all runs read; without it each has one of its own."""

    def program(self, system: str) -> Path:
        """What the user writes: a script of dlt, or our job."""
        if system == DLT:
            return PROGRAMS / f"{self.name.replace('-', '_')}.py"
        return PROGRAMS / f"{self.name}.conf"

    def lines(self, system: str) -> int:
        """Of that program, without empty ones."""
        lines = self.program(system).read_text("utf-8").splitlines()
        return sum(1 for line in lines if line.strip() and not line.lstrip().startswith("#"))

    def make(self, data: Path, rows: int) -> None:
        """Write what the task reads into an empty folder; called once for all runs."""

    def share(self, servers: Servers, data: Path, rows: int) -> None:
        """Give the servers what all runs read; called once."""

    def begin(self, place: Place) -> None:
        """Give the servers what this run alone has."""

    def change(self, place: Place) -> None:
        """Do what happens between the first night and the second."""

    def end(self, place: Place) -> None:
        """Take back what ``begin`` gave."""

    def given(self, place: Place, night: int) -> Path:
        """The folder INPUT of a night."""
        return place.data

    def expected(self, place: Place) -> str:
        """A query of DuckDB with the rows that the target has to have in the end."""
        raise NotImplementedError

    def found(self, place: Place) -> str:
        """A query of DuckDB with the rows of the target; empty while there is no target."""
        raise NotImplementedError


class IntoDuckDB(Task):
    """A task whose target is a table of a file of DuckDB."""

    table: str
    columns: str

    def found(self, place: Place) -> str:
        return f"SELECT {self.columns} FROM {place.in_duckdb(self.table)}" if place.output.exists() else ""


class IntoPostgres(Task):
    """A task whose target is a table of a database of PostgreSQL that is this run's own."""

    needs_postgres = True
    table: str
    columns: str

    def begin(self, place: Place) -> None:
        place.servers.create(place.database)

    def end(self, place: Place) -> None:
        place.servers.drop(place.database)

    def found(self, place: Place) -> str:
        name = place.in_postgres(self.table)
        (there,) = place.servers.execute(place.database, f"SELECT to_regclass('{name}') IS NOT NULL").fetchone()
        return f"SELECT {self.columns} FROM {place.copied(f'SELECT * FROM {name}')}" if there else ""
