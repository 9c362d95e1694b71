"""The table of functions, ``functions.tsv``: one line per case, six columns with tabs between them.

1. the expression in SeaTunnel's dialect;
2. the same in H2's, when it is another there, or ``-`` when H2 has nothing like it;
3. and 4. H2's type and value, ``!`` for an error, written by ``h2.py``;
5. and 6. our type and value, where they differ on purpose, or H2 has none.

A heading begins with ``#``.
"""

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, frozen

TABLE = Path(__file__).with_name("functions.tsv")


@frozen
class Case:
    expression: str
    h2: str = ""
    kind: str = ""
    value: str = ""
    our_kind: str = ""
    our_value: str = ""

    @property
    def differs(self) -> bool:
        """Whether the value is ours and not H2's."""
        return bool(self.our_kind)

    @property
    def expected(self) -> tuple[str, str]:
        return (self.our_kind, self.our_value) if self.differs else (self.kind, self.value)

    def answered(self, kind: str, value: str) -> "Case":
        return evolve(self, kind=kind, value=value)


def read_cases() -> list[Case]:
    return [Case(*line.split("\t")) for line in _lines() if line and not line.startswith("#")]


def write_cases(cases: Sequence[Case]) -> None:
    rest = iter(cases)
    written = [line if not line or line.startswith("#") else _line(next(rest)) for line in _lines()]
    TABLE.write_text("\n".join(written) + "\n", encoding="utf-8")


def _lines() -> list[str]:
    return TABLE.read_text(encoding="utf-8").splitlines()


def _line(case: Case) -> str:
    columns = [case.expression, case.h2, case.kind, case.value, case.our_kind, case.our_value]
    return "\t".join(columns).rstrip("\t")
