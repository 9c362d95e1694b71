"""SeaTunnel's SQL dialect. sqlglot parses every function as a plain call, which this package interprets.

Imports sqlglot, so it is loaded only if a job has a transform ``Sql``.
"""

from difflib import get_close_matches
from typing import Any, ClassVar

import sqlglot
from attrs import field, frozen
from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect

from seatunnel_core.connector_api.errors import UsageError


class SeaTunnel(Dialect):
    """Dialect with JSqlParser's quotes: backquotes or double quotes around names, single quotes around strings."""

    class Tokenizer(sqlglot.Tokenizer):
        """Tokenizer with the dialect's quotes for names and bytes."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']
        HEX_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("X'", "'"), ("x'", "'")]

    class Parser(sqlglot.Parser):
        """Parser in which nearly every function is a plain call."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser
            for name, parser in sqlglot.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT")
        } | {"POSITION": lambda parser: _position(parser), "TRIM": lambda parser: _trim(parser)}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": sqlglot.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}


def _position(parser: Any) -> exp.Expression:
    """Parse the arguments of ``POSITION(text, text)`` or ``POSITION(text IN text)``."""
    args = [parser._parse_bitwise()]
    if parser._match(TokenType.IN):
        args.append(parser._parse_bitwise())
    elif parser._match(TokenType.COMMA):
        args += parser._parse_csv(parser._parse_bitwise)
    return exp.Anonymous(this="POSITION", expressions=args)


_TRIMS = {"LEADING": "LTRIM", "TRAILING": "RTRIM", "BOTH": "TRIM"}
_BEHIND_A_SIDE = (TokenType.FROM, TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.L_PAREN)
"""Tokens that can follow LEADING, TRAILING or BOTH if the word is a keyword, not a column."""


def _trim(parser: Any) -> exp.Expression:
    """Parse the arguments of ``TRIM(text[, sign])`` or ``TRIM([LEADING | TRAILING | BOTH] [sign] FROM text)``."""
    side = parser._curr.text.upper() if parser._curr else ""
    has_side = side in _TRIMS and parser._next and parser._next.token_type in _BEHIND_A_SIDE
    name = _TRIMS[side] if has_side else "TRIM"
    if has_side:
        parser._advance()
    args = [] if parser._match(TokenType.FROM, advance=False) else parser._parse_csv(parser._parse_bitwise)
    if parser._match(TokenType.FROM):
        args.insert(0, parser._parse_bitwise())
    elif has_side:
        parser.raise_error(f"expected FROM after {side}: TRIM({side} 'x' FROM text)")
    return exp.Anonymous(this=name, expressions=args)


@frozen(kw_only=True)
class Statement:
    """``SELECT … FROM t [LATERAL VIEW …] [WHERE …]``."""

    text: str = field(repr=False)
    outputs: tuple[exp.Expression, ...] = field(repr=False)
    """Expressions between SELECT and FROM, with their aliases."""

    explodes: tuple[exp.Expression, ...] = field(repr=False)
    """Lateral views, in order."""

    where: exp.Expression | None = field(repr=False)
    tables: tuple[str, ...]
    """Valid qualifiers of a column: the table's name and its alias."""


def read(text: str) -> Statement:
    """Parse a statement, except its expressions; raise ``UsageError`` unless it is a SELECT over one table."""
    try:
        parsed = [each for each in sqlglot.parse(text, read=SeaTunnel) if each is not None]
    except sqlglot.errors.SqlglotError as error:
        raise UsageError(f"option 'query' cannot be parsed: {_readable(error)}") from None
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Select):
        raise UsageError("option 'query' must be a single statement SELECT … FROM t [WHERE …]")
    select = parsed[0]
    for name, part in select.args.items():
        if part and name not in ("expressions", "from_", "where", "laterals", "kind"):
            raise UsageError(f"option 'query': {_word(name)} is not supported: {_ONE_ROW}")
    source = select.args.get("from_")
    if source is None:
        raise UsageError("option 'query': the query has no FROM; use SELECT … FROM t")
    if not isinstance(source.this, exp.Table) or not source.this.name or source.this.args.get("joins"):
        raise UsageError(f"option 'query': a query inside FROM is not supported: {_ONE_ROW}")
    _check_table(source.this)
    where = select.args.get("where")
    statement = Statement(
        text=text,
        outputs=tuple(select.expressions),
        explodes=tuple(select.args.get("laterals") or ()),
        where=where.this if where else None,
        tables=tuple({source.this.name: None, source.this.alias_or_name: None}),
    )
    _check_functions(select)
    return statement


def place(node: exp.Expression) -> str:
    """Return the line and column of a part of the statement, for a message."""
    for part in node.walk(bfs=False):
        if "line" in part.meta:
            line, last = part.meta["line"], part.meta["col"]
            first = last - (part.meta["end"] - part.meta["start"])
            return f"line {line}, column {first}"
    return "the query"


def shown(node: exp.Expression) -> str:
    """Return a part of the statement as a string."""
    return str(node.sql(dialect=SeaTunnel, comments=False, normalize_functions=False))


_OVER_ROWS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "ROW_NUMBER", "RANK", "LAG", "LEAD")
_ONE_ROW = (
    "the Sql transform processes each row of one table separately; SparkSql supports all of Spark SQL, in a batch "
    "job over all rows"
)


def _check_table(table: exp.Table) -> None:
    alias = table.args.get("alias")
    beside = [name for name, part in table.args.items() if part and name not in ("this", "db", "catalog", "alias")]
    if beside or (alias and alias.args.get("columns")):
        raise UsageError(f"option 'query': FROM must be followed by only the name of a table, found {shown(table)}")


def _check_functions(select: exp.Select) -> None:
    from seatunnel_core.transforms.sql.functions.catalog import find, names

    unknown: list[str] = []
    for call in select.find_all(exp.Anonymous):
        name = call.name.upper()
        if name == "EXPLODE" or find(name) is not None:
            continue
        if name in _OVER_ROWS:
            unknown.append(f"option 'query': {place(call)}: {name} is not supported: {_ONE_ROW}")
            continue
        near = get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]}?" if near else "`seatunnel help sql-functions` lists the functions"
        unknown.append(f"option 'query': {place(call)}: there is no function {name}; {hint}")
    if unknown:
        raise UsageError.joined(unknown)


def _word(name: str) -> str:
    return {"joins": "a JOIN or a second table", "group": "GROUP BY", "order": "ORDER BY", "with_": "WITH"}.get(
        name, name.rstrip("_").upper()
    )


def _readable(error: Exception) -> str:
    found = getattr(error, "errors", None)
    if not found:
        return str(error).splitlines()[0]
    first = found[0]
    return f"line {first['line']}, column {first['col']}: {first['description']}, at {first['highlight']!r}"
