"""INSERT statement provided by the user, with which a sink writes its rows."""

import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.options import SINK_QUERY

_INSERT = re.compile(r"\s*((?:insert|replace)\s.*?)\bvalues\s*\(", re.IGNORECASE | re.DOTALL)
_TOKENS = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|::|:(?P<name>[A-Za-z_]\w*)|(?P<literal>\?\?)|(?P<mark>\?)|[()]|.",
    re.DOTALL,
)


@frozen(kw_only=True)
class Statement:
    """The user's ``INSERT … VALUES (…)``. Its parameters are filled from columns of the rows."""

    before: str
    values: tuple[str | int, ...]
    """Parts of the SQL between the parentheses; each parameter is represented by the index of its column, from 0."""

    after: str
    marks: tuple[str, ...]
    """Names of the parameters, if these are written ``:name``; empty if they are written ``?``."""

    def of(self, dialect: Dialect, names: Sequence[str], staging: str, places: Sequence[str]) -> str:
        """Return the statement that inserts all staged rows; ``names`` are the columns in the order of the parameters.

        ``places`` is the result of ``Dialect.place_types``, and is required if ``repeats`` is true.
        """
        staged, kinds = self.types(places), iter(places)
        shown = ""
        for each in self.values:
            if not isinstance(each, int):
                shown += each
                continue
            kind, name = next(kinds, ""), dialect.quoted(names[each])
            shown += f"CAST({name} AS {kind})" if kind and each not in staged else name
        after = f" {self.after}" if self.after else ""
        # Without the condition SQLite would parse ON of ON CONFLICT as part of a join.
        return f"{self.before}SELECT {shown} FROM {staging} WHERE 1 = 1{after}"

    @property
    def repeats(self) -> bool:
        """True if several parameters are filled from the same column."""
        numbers = [each for each in self.values if isinstance(each, int)]
        return len(numbers) > len(set(numbers))

    def asked(self) -> str:
        """Return the statement with its parameters written as ``$1``, ``$2`` and so on."""
        numbers = iter(range(1, len(self.values) + 1))
        shown = "".join(f"${next(numbers)}" if isinstance(each, int) else each for each in self.values)
        return f"{self.before}VALUES ({shown}) {self.after}"

    def types(self, places: Sequence[str]) -> Mapping[int, str]:
        """Return the required types, keyed by column index; omit columns whose parameters have different types."""
        numbers = [each for each in self.values if isinstance(each, int)]
        found: dict[int, set[str]] = {}
        for number, kind in zip(numbers, places, strict=False):
            found.setdefault(number, set()).add(kind)
        return {number: kind for number, (kind, *others) in found.items() if kind and not others}


def statement_of(query: str) -> Statement:
    """Parse the user's statement; raise ``UsageError`` unless it is an INSERT with one list of values."""
    found = _INSERT.match(query)
    if found is None:
        raise UsageError(
            "option 'query': expected an INSERT … VALUES (…) statement; for updates and deletes set "
            "generate_sink_sql = true, table and primary_keys"
        )
    values: list[str | int] = []
    names: list[str] = []
    depth, at, marks = 1, found.end(), 0
    for token in _TOKENS.finditer(query, at):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0:
            at = token.end()
            break
        if token["mark"]:
            values.append(marks)
            marks += 1
        elif token["name"]:
            if token["name"] not in names:
                names.append(token["name"])
            values.append(names.index(token["name"]))
        elif token["literal"]:
            values.append("?")  # as in JDBC: an operator of PostgreSQL
        else:
            values.append(token[0])
    after = query[at:].strip().rstrip(";").strip()
    if depth or after.startswith(","):
        raise UsageError("option 'query': the statement must contain one list of values, for example VALUES (?, ?)")
    if marks and names:
        raise UsageError("option 'query': the statement contains both ? and :name; use only one of them")
    return Statement(before=found[1], values=tuple(values), after=after, marks=tuple(names))


def query_of(options: Options) -> str:
    """Return the query in the options of a sink; raise ``UsageError`` if it is missing."""
    query: str | None = options[SINK_QUERY]
    if not query:
        raise UsageError("option 'query' is missing; set it, or set generate_sink_sql = true and table")
    return query
