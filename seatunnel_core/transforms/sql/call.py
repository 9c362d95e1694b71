"""Calls of functions in a statement: their arguments as they are asked for, and the register of all functions."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.rows.types import type_name
from seatunnel_core.transforms.sql.casts import cast
from seatunnel_core.transforms.sql.engine_function import ArrowFunction, EngineFunctions
from seatunnel_core.transforms.sql.value import DOUBLE, INT, NULL, STRING, SqlError, Value, is_number


@frozen(kw_only=True)
class Call:
    """A function in a statement, with its arguments compiled."""

    name: str
    at: str
    """Its place, for messages."""

    args: tuple[Value, ...]
    functions: EngineFunctions = field(repr=False)

    @property
    def what(self) -> str:
        return f"{self.name} at {self.at}"

    def make(
        self, function: ArrowFunction, kind: pa.DataType, args: Sequence[Value] | None = None, *, fails: bool = True
    ) -> Value:
        return self.functions.call(self.what, function, self.args if args is None else args, kind, fails=fails)

    def text(self, at: int) -> Value:
        """An argument as a text; numbers, dates and so on become one as CAST makes it."""
        return self.cast(at, STRING)

    def whole(self, at: int, kind: pa.DataType = INT) -> Value:
        return self.cast(at, kind)

    def number(self, at: int) -> Value:
        """An argument that is a number, or a text of one."""
        value = self.args[at]
        if is_number(value.type):
            return value
        if value.type in (STRING, NULL):
            return self.cast(at, DOUBLE)
        raise self.wrong(at, "a number")

    def cast(self, at: int, kind: pa.DataType) -> Value:
        return cast(self.functions, self.args[at], kind, f"{self.what}, argument {at + 1},")

    def known(self, at: int, wanted: str, default: str | None = None) -> str:
        """An argument that has to be a text of the statement itself, for example a format."""
        if at >= len(self.args) and default is not None:
            return default
        value = self.args[at].constant
        if value is None or value.type != STRING or not value.is_valid:
            raise SqlError(f"Sql: {self.what}: argument {at + 1} has to be {wanted} in quotes")
        return str(value.as_py())

    def wrong(self, at: int, wanted: str) -> SqlError:
        found = type_name(self.args[at].type)
        return SqlError(f"Sql: {self.what}: argument {at + 1} is {found}, and has to be {wanted}")


@frozen(kw_only=True)
class Function:
    """One entry of the list of functions."""

    least: int
    most: int
    compiled: Callable[[Call], Value]


FUNCTIONS: dict[str, Function] = {}
"""By name, in upper case."""

_Compiled = TypeVar("_Compiled", bound=Callable[[Call], Value])


def function(*names: str, least: int = 1, most: int | None = None) -> Callable[[_Compiled], _Compiled]:
    """Registers what compiles a function, with the number of its arguments."""

    def register(compiled: _Compiled) -> _Compiled:
        for name in names:
            FUNCTIONS[name] = Function(least=least, most=least if most is None else most, compiled=compiled)
        return compiled

    return register


MANY = 1_000_000
"""As many arguments as somebody wants."""
