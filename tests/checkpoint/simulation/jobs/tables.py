"""The tables of a job's targets, which its users drop and put back."""

import random

from attrs import define, field


@define
class Tables:
    """The tables that exist, and those that are lost with rows of the job."""

    rng: random.Random
    existing: dict[str, str] = field(factory=dict)
    """Each with its identity."""

    written: set[str] = field(factory=set)
    """The targets, with one table or several, in which the job has published something."""

    filled: dict[str, str] = field(factory=dict)
    """To which the job has published something, each with the plugin that did so last."""

    lost: dict[str, str] = field(factory=dict)
    """Those with rows that were dropped, until they are put back."""

    made: int = 0

    def create(self, table: str) -> None:
        """Create a table that does not exist."""
        self.made += 1
        self.lost.pop(table, None)
        self.existing[table] = str(self.made)

    def lose(self) -> bool:
        """Drop a table with rows; return False if there is none."""
        there = sorted(self.filled.keys() & self.existing.keys())
        if there:
            table = self.rng.choice(there)
            self.lost[table] = self.existing.pop(table)
        return bool(there)

    def put_back(self, words: str) -> int:
        """Restore the tables that an error names, and return their number."""
        named = [table for table in self.lost if f"the table {table} does not exist" in words]
        for table in named:
            self.existing[table] = self.lost.pop(table)
        return len(named)
