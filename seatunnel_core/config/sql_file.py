"""Parser for jobs written in SQL. The result is the tree of the equivalent job in HOCON.

::

    /* config
    env { parallelism = 2 }
    */
    CREATE TABLE people WITH ('connector' = 'FakeSource', 'type' = 'source', 'row.num' = '16', …);
    CREATE TABLE target WITH ('connector' = 'LocalFile', 'type' = 'sink', 'path' = '/data/out', …);
    CREATE TABLE adults AS SELECT name FROM people WHERE age > 17;   -- a transform Sql
    INSERT INTO target SELECT name FROM adults;                      -- another transform, written to the sink
    INSERT INTO target SELECT people;                                -- the whole source, unchanged

A value that starts with ``{`` or ``[`` is HOCON. sqlglot tokenizes the text; the ``Sql`` transform parses the queries.
"""

import re
from collections.abc import Iterator
from typing import NoReturn

from attrs import define, field

from seatunnel_core.config.document import Block, Entry, Items, Position, Scalar, Value
from seatunnel_core.config.hocon import parse_hocon
from seatunnel_core.config.problem import Problem, Problems, nearest
from seatunnel_core.config.sql_tokens import SqlText, Statement, statements
from seatunnel_core.config.substitution import resolve
from seatunnel_core.config.variables import Variables, filled_scalar
from seatunnel_core.errors import ConfigError

_PIECES = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_CONFIG = re.compile(r"/\*\s*config\b")
_STATEMENTS = (
    "A job in SQL consists of CREATE TABLE name WITH (…), CREATE TABLE name AS SELECT … and INSERT INTO name "
    "SELECT …, each terminated by a semicolon"
)


def parse_sql(text: str, name: str, variables: Variables, problems: Problems) -> Block:
    """Return the tree of a job in SQL; raise ``ConfigError`` if the file is invalid or sqlglot is not installed."""
    return _Job(SqlText(text, name), variables, problems).tree()


@define
class _Table:
    """A table that a statement creates."""

    kind: str
    """``source``, ``transform`` or ``sink``."""

    connector: str
    options: list[Entry]
    position: Position
    inputs: list[Scalar] = field(factory=list)


class _Job:
    def __init__(self, text: SqlText, variables: Variables, problems: Problems) -> None:
        self._text = text
        self._variables = variables
        self._problems = problems
        self._tables: dict[str, _Table] = {}

    def tree(self) -> Block:
        config, rest = self._config()
        for statement in statements(rest, self._text):
            self._read(statement)
        sections = [self._section(kind) for kind in ("source", "transform", "sink")]
        return Block((*config, *(entry for entry in sections if entry is not None)), self._text.at(0))

    def _config(self) -> tuple[Block, str]:
        """Return the content of comments that start with ``config``, and the file without these comments."""
        tree = Block((), self._text.at(0))
        rest = self._text.text
        for piece in _PIECES.finditer(self._text.text):
            opening = _CONFIG.match(piece[0])
            if opening is None:
                continue
            begin = piece.start() + opening.end()
            tree = tree.merged(self._hocon(self._text.padded(begin, self._text.text[begin : piece.end() - 2])))
            rest = rest[: piece.start()] + re.sub(r"[^\n]", " ", piece[0]) + rest[piece.end() :]
        for entry in tree:
            if entry.key in ("source", "transform", "sink"):
                hint = f"Write the block in SQL. {_STATEMENTS}"
                self._problem(f"{entry.key} is not allowed in a comment", entry.position, hint)
        return tree, rest

    def _hocon(self, text: str) -> Block:
        return resolve(parse_hocon(text, self._text.name, self._problems), self._variables, self._problems)

    def _read(self, statement: Statement) -> None:
        if statement.takes("CREATE", "TABLE"):
            self._create(statement)
        elif statement.takes("INSERT", "INTO"):
            self._insert(statement)
        else:
            self._text.refuse(f"a statement cannot begin with {statement.word()!r}", statement.offset, _STATEMENTS)

    def _create(self, statement: Statement) -> None:
        statement.takes("IF", "NOT", "EXISTS")  # ignored: a duplicate name is a mistake anyway
        name, offset = statement.name("the name of the table")
        if name in self._tables:
            first = self._tables[name].position
            self._text.refuse(f"the table {name!r} already exists: it is created at {first}", offset)
        if statement.takes("AS"):
            self._select_as(name, offset, statement)
        elif statement.takes("WITH"):
            self._plugin(name, offset, statement)
        elif statement.word() == "(":
            hint = "Remove them; set the columns of a source in its option 'schema'"
            self._text.refuse(f"the table {name!r} declares columns in SQL", statement.offset, hint)
        else:
            self._text.refuse(
                f"expected WITH (…) or AS SELECT … after {name!r}, found {statement.word()!r}", statement.offset
            )

    def _plugin(self, name: str, offset: int, statement: Statement) -> None:
        options = {entry.key: entry for entry in self._options(statement)}
        kind, connector = (self._fixed(options, key, name, offset) for key in ("type", "connector"))
        if kind.text.lower() not in ("source", "sink"):
            self._problem(f"the table {name!r} has the unknown type {kind.text!r}", kind.position, "Use source or sink")
        table = _Table(kind.text.lower(), connector.text, list(options.values()), self._text.at(offset))
        if table.kind == "source":
            table.options.append(_entry("plugin_output", name, table.position))
        self._tables[name] = table

    def _fixed(self, options: dict[str, Entry], key: str, name: str, offset: int) -> Scalar:
        entry = options.pop(key, None)
        if entry is None or not isinstance(entry.value, Scalar):
            self._text.refuse(f"the table {name!r} has no {key}", offset, f"Add '{key}' = '…' to WITH (…)")
        return entry.value

    def _options(self, statement: Statement) -> Iterator[Entry]:
        statement.expect("(")
        keys: set[str] = set()
        while True:
            key, offset = statement.string("a key in single quotes")
            if key in keys:
                self._text.refuse(f"the key {key!r} occurs twice", offset)
            keys.add(key)
            statement.expect("=")
            value, begin = statement.string("a value in single quotes")
            yield Entry(key, self._value(value, begin, key), self._text.at(offset))
            if statement.takes(")"):
                statement.end()
                return
            statement.expect(",", "',' or ')'")

    def _value(self, text: str, begin: int, key: str) -> Value:
        """Return a string, or the HOCON value that it contains. The option type converts numbers and booleans."""
        place = self._text.at(begin)
        if text.lstrip()[:1] not in ("{", "["):
            return filled_scalar(Scalar(text, text, place), self._variables, self._problems, (key,))
        found = self._hocon(self._text.padded(begin + 1, text, "v=")).get("v")
        assert found is not None, "the text contains only this value"
        return found

    def _select_as(self, name: str, offset: int, statement: Statement) -> None:
        table, begin = statement.query()
        self._require_rows(table, begin)
        self._transform(name, self._text.at(offset), table, statement)

    def _transform(self, name: str, position: Position, table: str, statement: Statement) -> None:
        query = Scalar(statement.query_text, statement.query_text, self._text.at(statement.query_offset))
        options = [
            _entry("plugin_input", table, position),
            Entry("query", filled_scalar(query, self._variables, self._problems), query.position),
            _entry("plugin_output", name, position),
        ]
        self._tables[name] = _Table("transform", "Sql", options, position)

    def _insert(self, statement: Statement) -> None:
        name, offset = statement.name("the name of a sink's table")
        if statement.word() == "(":
            self._text.refuse(
                "INSERT INTO takes no columns", statement.offset, "Name and order them in the SELECT: SELECT a AS x, …"
            )
        sink = self._tables.get(name)
        if sink is None or sink.kind != "sink":
            self._text.refuse(f"there is no sink {name!r} above this line{self._near(name, 'sink')}", offset)
        table, begin = statement.query()
        self._require_rows(table, begin)
        if not statement.takes_all:
            count = len(self._tables)
            between = next(each for n in range(count + 1) if (each := f"{name}_input_{count + n}") not in self._tables)
            self._transform(between, self._text.at(statement.query_offset), table, statement)
            table = between
        sink.inputs.append(Scalar(table, table, self._text.at(offset)))

    def _require_rows(self, table: str, offset: int) -> None:
        found = self._tables.get(table)
        if found is None or found.kind == "sink":
            near = self._near(table, "source", "transform")
            self._text.refuse(f"no table {table!r} that produces rows is created above this line{near}", offset)

    def _near(self, name: str, *kinds: str) -> str:
        close = nearest(name, [each for each, table in self._tables.items() if table.kind in kinds])
        return f"; did you mean {close!r}?" if close else ""

    def _problem(self, message: str, position: Position, hint: str) -> NoReturn:
        raise ConfigError(str(Problem(message, position, hint)))

    def _section(self, kind: str) -> Entry | None:
        blocks = []
        for name, table in self._tables.items():
            if table.kind != kind:
                continue
            entries = list(table.options)
            if kind == "sink":
                if not table.inputs:
                    self._problem(
                        f"nothing is inserted into {name!r}", table.position, f"Add INSERT INTO {name} SELECT …;"
                    )
                entries.append(Entry("plugin_input", Items(tuple(table.inputs), table.position), table.position))
            blocks.append(Entry(table.connector, Block(tuple(entries), table.position), table.position))
        return Entry(kind, Block(tuple(blocks), blocks[0].position), blocks[0].position) if blocks else None


def _entry(key: str, text: str, position: Position) -> Entry:
    return Entry(key, Scalar(text, text, position), position)
