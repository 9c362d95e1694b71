"""Function calls in a statement with their arguments, and the registry of all functions."""

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
    """A function call with compiled arguments."""

    name: str
    at: str
    """Position in the statement, for messages."""

    args: tuple[Value, ...]
    functions: EngineFunctions = field(repr=False)

    @property
    def what(self) -> str:
        """Function and its position, for messages."""
        return f"{self.name} at {self.at}"

    def make(
        self, function: ArrowFunction, kind: pa.DataType, args: Sequence[Value] | None = None, *, fails: bool = True
    ) -> Value:
        """Compile a call of an Arrow function with the given values, or else with the arguments of this call."""
        return self.functions.call(self.what, function, self.args if args is None else args, kind, fails=fails)

    def text(self, at: int) -> Value:
        """Return an argument as a string; other types are cast."""
        return self.cast(at, STRING)

    def whole(self, at: int, kind: pa.DataType = INT) -> Value:
        """Return an argument as an integer."""
        return self.cast(at, kind)

    def number(self, at: int) -> Value:
        """Return an argument that is a number, or a string that contains one."""
        value = self.args[at]
        if is_number(value.type):
            return value
        if value.type in (STRING, NULL):
            return self.cast(at, DOUBLE)
        raise self.wrong(at, "a number")

    def cast(self, at: int, kind: pa.DataType) -> Value:
        """Return an argument cast to another type."""
        return cast(self.functions, self.args[at], kind, f"{self.what}, argument {at + 1},")

    def known(self, at: int, wanted: str, default: str | None = None) -> str:
        """Return an argument that must be a literal string, for example a format."""
        if at >= len(self.args) and default is not None:
            return default
        value = self.args[at].constant
        if value is None or value.type != STRING or not value.is_valid:
            raise SqlError(f"Sql: {self.what}: argument {at + 1} must be {wanted} in quotes")
        return str(value.as_py())

    def wrong(self, at: int, wanted: str) -> SqlError:
        """Return the error for an argument of the wrong type."""
        found = type_name(self.args[at].type)
        return SqlError(f"Sql: {self.what}: argument {at + 1} is {found}, but must be {wanted}")


@frozen(kw_only=True)
class Function:
    """An entry of the registry of functions."""

    least: int
    most: int
    compiled: Callable[[Call], Value]


FUNCTIONS: dict[str, Function] = {}
"""Functions by upper-case name."""

_Compiled = TypeVar("_Compiled", bound=Callable[[Call], Value])


def function(*names: str, least: int = 1, most: int | None = None) -> Callable[[_Compiled], _Compiled]:
    """Return a decorator that registers the compiler of a function, with its minimum and maximum argument count."""

    def register(compiled: _Compiled) -> _Compiled:
        for name in names:
            FUNCTIONS[name] = Function(least=least, most=least if most is None else most, compiled=compiled)
        return compiled

    return register


def fixed(names: str, compute: ArrowFunction, kind: pa.DataType, *arguments: pa.DataType, fails: bool = False) -> None:
    """Register an Arrow function under each of the space-separated ``names``. Arguments are cast to fixed types."""

    def compiled(call: Call) -> Value:
        return call.make(compute, kind, [call.cast(at, each) for at, each in enumerate(arguments)], fails=fails)

    function(*names.split(), least=len(arguments))(compiled)


MANY = 1_000_000
"""Maximum number of arguments of variadic functions."""
