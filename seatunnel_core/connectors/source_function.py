"""The decorator ``@st.source``: Python functions that return rows, as sources of jobs."""

import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, overload

from attrs import asdict, evolve, frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.rows.row_giver import RowGiver

if TYPE_CHECKING:
    import pyarrow as pa

P = ParamSpec("P")
Row = Mapping[str, Any]
Splits = Sequence[Any] | Callable[..., Iterable[Any]]


@frozen(kw_only=True, slots=False, repr=False)
class SourceFunction(RowGiver, Generic[P]):
    """A function that yields rows, for ``Job.source``; calling it returns a copy bound to the arguments.

    Iterate over it to get its rows without a job, split by split.
    """

    function: Callable[..., Iterable[Row]]
    splits: Splits | None = None
    replayable: bool | None = None
    """Value set by the user; ``None`` if the user did not set it."""

    arguments: tuple[Any, ...] = ()
    named_arguments: Mapping[str, Any] = {}

    def __reduce__(self) -> Any:
        """Pickle functions of modules by name, and other functions by value, such as those of a notebook."""
        module = self.function.__module__
        found = getattr(sys.modules.get(module), self.name, None)
        if module != "__main__" and getattr(found, "function", None) is self.function:
            return _named, (module, self.name, self.arguments, dict(self.named_arguments))
        return functools.partial(SourceFunction, **asdict(self, recurse=False)), ()

    def __repr__(self) -> str:
        given = " with arguments" if self.arguments or self.named_arguments else ""  # they may be secret
        return f"<source {self.place}{given}>"

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> "SourceFunction[P]":
        return evolve(self, arguments=arguments, named_arguments=named)

    def __iter__(self) -> Iterator[Row]:
        for split in self.planned_splits():
            yield from self.rows(split)

    def planned_splits(self) -> list[Any]:
        """Return the splits as JSON values, or a single ``None`` if the function has none.

        Raises:
            UsageError: A split is not a JSON value, so checkpoints cannot contain it, or there are no splits.
        """
        if self.splits is None:
            return [None]
        if isinstance(self.splits, Sequence):
            found: Iterable[Any] = self.splits
        else:
            found = self.splits(*self.arguments, **self.named_arguments)
        return [_as_json(split, number, self.place) for number, split in enumerate(found, 1)]

    def rows(self, split: Any) -> Iterator[Row]:
        """Yield the rows of one split; errors of the function are raised with its name and their cause."""
        first = () if self.splits is None else (split,)
        try:
            yield from self.function(*first, *self.arguments, **self.named_arguments)
        except Exception as error:
            raise SourceError(f"{self.place} failed with {type(error).__name__}: {error}") from error


def _named(
    module: str, name: str, arguments: tuple[Any, ...], named_arguments: Mapping[str, Any]
) -> SourceFunction[...]:
    found: SourceFunction[...] = getattr(importlib.import_module(module), name)
    return evolve(found, arguments=arguments, named_arguments=named_arguments)


def _as_json(split: Any, number: int, place: str) -> Any:
    try:
        kept = json.loads(json.dumps(split, allow_nan=False))
    except (TypeError, ValueError):
        kept = None
    if kept is None or kept != (list(split) if isinstance(split, tuple) else split):
        raise UsageError(
            f"{place}: split {number} is {split!r}, which JSON cannot represent; checkpoints store splits as JSON: "
            "use strings, numbers, booleans, lists or mappings with string keys"
        )
    return kept


@overload
def source(function: Callable[P, Iterable[Row]], /) -> SourceFunction[P]: ...


@overload
def source(
    *, splits: Splits, schema: "Mapping[str, Any] | pa.Schema | None" = None, replayable: bool | None = None
) -> Callable[[Callable[Concatenate[Any, P], Iterable[Row]]], SourceFunction[P]]: ...


@overload
def source(
    *, schema: "Mapping[str, Any] | pa.Schema | None" = None, replayable: bool | None = None
) -> Callable[[Callable[P, Iterable[Row]]], SourceFunction[P]]: ...


def source(
    function: Callable[..., Iterable[Row]] | None = None,
    /,
    *,
    splits: Splits | None = None,
    schema: "Mapping[str, Any] | pa.Schema | None" = None,
    replayable: bool | None = None,
) -> Any:
    """Create a source from a function that yields or returns rows: mappings from column to value.

    ::

        @st.source(splits=["2024-01", "2024-02"], schema={"id": "bigint", "city": "string"}, replayable=True)
        def sales(month, url="https://example.com"):
            yield from requests.get(f"{url}/{month}").json()

        job.source(sales)  # or sales(url="…"), with arguments
        list(sales)        # its rows, without a job

    It runs in Spark tasks, and must open its resources itself. **After a failure the whole split is read again**, and
    the rows of the failed attempt are discarded. So the result is correct if the second read returns the same rows: set
    ``replayable=True`` for such a function, and the job is exactly-once if its sinks are. Otherwise rows that change
    between two reads may be duplicated or lost: the job guarantees at least once, and warns if ``replayable`` is not
    set. Rows that are available only once, such as those of a queue, can be read before the job starts with
    ``job.from_rows(sales())``.

    Args:
        function: The function, if the decorator has no arguments.
        splits: The parts to read in parallel, and separately after a failure: a list, or a function that takes
            the arguments of the source and returns a list. The function gets one split as its first argument. Splits
            are JSON values, and are fixed when the job starts: a resumed job has the same splits. They must not contain
            secrets, because checkpoints and messages contain them.
        schema: The columns, as in ``Job.from_rows``. Without it they are inferred from the first 1,000 rows, which are
            then read twice, and a later row that does not fit is an error.
        replayable: True if reading a split again returns the same rows.

    Raises:
        UsageError: The decorated object cannot be called.
    """
    if function is None:
        return functools.partial(_made, splits=splits, schema=schema, replayable=replayable)
    return _made(function, splits=splits, schema=schema, replayable=replayable)


def _made(function: Any, **said: Any) -> SourceFunction[...]:
    if not callable(function) or isinstance(function, type):
        raise UsageError(
            f"@st.source decorates a function that yields rows; found {function!r}. Pass options as "
            "keyword arguments: @st.source(splits=[…])"
        )
    return SourceFunction(function=function, **said)
