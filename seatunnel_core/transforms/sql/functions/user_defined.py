"""User-defined functions of a transform ``Sql``: Python functions of installed packages.

::

    from seatunnel_core.transforms.sql.functions.user_defined import sql_function

    @sql_function("string")
    def shout(text: str) -> str:
        return text.upper() + "!"

An entry point in the group ``seatunnel.sql_function`` defines its name in statements, which is case-insensitive::

    [project.entry-points."seatunnel.sql_function"]
    SHOUT = "my_functions:shout"
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.rows.types import arrow_type, type_name
from seatunnel_core.transforms.sql.call import MANY, Call, Function
from seatunnel_core.transforms.sql.engine_function import rows
from seatunnel_core.transforms.sql.value import SqlError, Value

GROUP = "seatunnel.sql_function"

_Result = str | Callable[[Sequence[str]], str]
_Called = TypeVar("_Called", bound=Callable[..., Any])


def sql_function(result: _Result, *, nulls: bool = False) -> Callable[[_Called], _Called]:
    """Declare a Python function as an SQL function of the values of one row.

    Args:
        result: SeaTunnel's name of the result type, or a function that returns it for the argument types.
        nulls: True to call the function even if an argument is null (``None``). By default, the result is then null.
    """

    def declare(called: _Called) -> _Called:
        called.__sql_function__ = (result, nulls)  # type: ignore[attr-defined]
        return called

    return declare


@frozen(kw_only=True)
class UserDefined:
    """A function of an installed package, imported when a statement calls it."""

    point: EntryPoint

    @property
    def origin(self) -> str:
        """Package of the function, for messages."""
        return f"the package {self.point.dist.name if self.point.dist else 'unknown'} ({self.point.value})"

    def loaded(self) -> Function:
        """Import the function; raise ``UsageError`` if this fails or it is not declared with ``sql_function``."""
        try:
            called = self.point.load()
        except Exception as error:  # a plugin may raise any exception
            raise UsageError(
                f"the function {self.point.name} of {self.origin} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        declared = getattr(called, "__sql_function__", None)
        if declared is None or not callable(called):
            raise UsageError(f"{self.point.name} of {self.origin} is not a function decorated with @sql_function(type)")
        least, most = _arguments(called)
        return Function(least=least, most=most, compiled=lambda call: _compiled(call, called, *declared))


@cache
def user_defined() -> Mapping[str, UserDefined]:
    """Return the functions of installed packages, keyed by upper-case name."""
    return {point.name.upper(): UserDefined(point=point) for point in entry_points(group=GROUP)}


def _arguments(called: Callable[..., Any]) -> tuple[int, int]:
    """Return the minimum and maximum number of arguments of a function."""
    parameters = [each for each in inspect.signature(called).parameters.values() if each.kind is not each.KEYWORD_ONLY]
    several = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    least = sum(each.default is each.empty for each in places)
    return least, MANY if several else len(places)


def _compiled(call: Call, called: Callable[..., Any], result: _Result, nulls: bool) -> Value:
    kind = _kind(call, result)

    def of_row(row: tuple[Any, ...]) -> Any:
        if not nulls and None in row:
            return None
        try:
            return called(*row)
        except Exception as error:  # the plugin function's message, for the failing row
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def run(*columns: Any) -> pa.Array:
        try:
            return pa.array(map(of_row, rows(columns)), kind)
        except (TypeError, pa.ArrowInvalid) as error:
            raise ValueError(f"the result is not of type {type_name(kind)}: {error}") from error

    if not call.args:
        raise SqlError(f"Sql: {call.what}: a user-defined function needs at least one argument")
    return call.make(run, kind)


def _kind(call: Call, result: _Result) -> pa.DataType:
    try:
        return arrow_type(result if isinstance(result, str) else result([type_name(each.type) for each in call.args]))
    except ValueError as error:
        raise SqlError(f"Sql: {call.what}: the type of the result: {error}") from None
