"""Incremental sources: each job reads the rows that were added since the previous job.

Such a source derives from ``Incremental`` and declares the option ``INCREMENTAL``. When a job is planned, the engine
passes the cursor at the end of the previous increment, and stores the returned window with the job. A process that
resumes the job reads exactly that window.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

from attrs import frozen

from seatunnel_core.config.option import BLOCK, DURATION_MS, ENUM, LIST, STRING, Option, OptionType
from seatunnel_core.errors import SourceError
from seatunnel_core.work.window import Cursor, Window

__all__ = [
    "INCREMENTAL",
    "Increment",
    "Incremental",
    "Increments",
    "OptionIncrements",
    "digest",
    "incremental_option",
    "reads_in_increments",
    "require_few",
]

MOST_DIGESTS = 20_000
"""Maximum number of row digests in the stored state."""

_DIGEST_BYTES = 12
_KEYS = ("column", "start", "lag", "key", "nulls")
_NULLS = ENUM("FAIL", "SKIP")


@frozen(kw_only=True)
class Increment:
    """The ``incremental`` block of a source."""

    column: str
    start: str | None = None
    """First value that the first job reads; ``None`` to read everything."""

    lag: str = "0"
    """Maximum distance of late rows from the largest value read: a duration, or a number for a numeric column."""

    key: tuple[str, ...] = ()
    """Columns that identify a row; by default the primary key."""

    param: str | None = None
    """Request parameter that passes the first value to the service; ``None`` to request everything."""

    skips_nulls: bool = False
    """True to skip rows that are null in the cursor column; if False, such rows cause the job to fail at startup."""

    @property
    def lag_ms(self) -> int:
        """``lag`` as a duration in milliseconds.

        Raises:
            SourceError: ``lag`` is not a duration.
        """
        try:
            return DURATION_MS.parse(self.lag)
        except ValueError as error:
            raise SourceError(f"option 'incremental': lag: {error}") from error


def _increment(value: Any, keys: Mapping[str, None]) -> Increment:
    block = BLOCK(keys).parse(value)
    unknown = sorted(block.keys() - keys.keys())
    if unknown:
        raise ValueError(f"incremental has the unknown key {unknown[0]!r}; expected {', '.join(keys)}")
    if block.get("column") is None:
        raise ValueError("incremental requires the key column, for example incremental { column = updated_at }")
    return Increment(
        column=STRING.parse(block["column"]),
        start=None if block.get("start") is None else STRING.parse(block["start"]),
        lag=STRING.parse(block.get("lag", "0")),
        key=LIST(STRING).parse(block.get("key") or ()),
        param=None if block.get("param") is None else STRING.parse(block["param"]),
        skips_nulls=_NULLS.parse(block.get("nulls", "FAIL")) == "SKIP",
    )


def incremental_option(doc: str, *more: str) -> Option[Increment]:
    """Return the option ``incremental`` of a source; ``more`` contains further keys of its block."""
    keys = dict.fromkeys((*_KEYS, *more))
    parse = partial(_increment, keys=keys)
    block = OptionType(name="block", parse=parse, textual=True, nested=True, keys=keys, shape=BLOCK(keys).shape)
    return Option("incremental", block, doc=doc)


INCREMENTAL = incremental_option(
    "Read only rows added or changed since the last job of this name. `column` increases with each new or changed "
    "row. The first job begins at `start`. `lag` is the maximum delay of a late row, and `key` the columns that "
    "identify a row (by default the primary key). `nulls = SKIP` skips rows without a value."
)


class Incremental(ABC):
    """Additional interface of a source that can read increments."""

    @property
    @abstractmethod
    def increment(self) -> Increment | None:
        """Return the ``incremental`` block of the job; ``None`` to read everything."""

    @property
    def increment_key(self) -> tuple[str, ...]:
        """Return the columns that identify a row, if the options define them."""
        return () if self.increment is None else self.increment.key

    @abstractmethod
    def reads(self) -> Mapping[str, str]:
        """Describe the data and the cursor column. A cursor is valid only for the same description.

        Raises:
            SourceError: The source cannot read increments.
        """

    @abstractmethod
    def window(self, after: Cursor | None) -> Window:
        """Return the window of a job that starts now.

        Runs in the driver, before the job is claimed; does not read rows.

        Args:
            after: End of the previous increment; ``None`` for the first one. If the user has set it with
                ``seatunnel state set``, it need not be a value of the column.

        Raises:
            SourceError: The source cannot determine the window, or cannot identify rows that it must identify.
        """

    @abstractmethod
    def read_window(self, window: Window) -> None:
        """Set the window for this job, as determined when it was first planned. Called before ``discover``."""


class Increments(Protocol):
    """Increments defined by the options of a source."""

    @property
    def increment(self) -> Increment:
        """Return the ``incremental`` block of the job."""

    @property
    def reads(self) -> Mapping[str, str]:
        """Return the description of the data and the cursor column, as in ``Window.reads``."""


IncrementsT = TypeVar("IncrementsT", bound=Increments)


class OptionIncrements(Incremental, Generic[IncrementsT]):
    """Incremental source whose increments are defined by its options alone."""

    _increments: IncrementsT | None
    _window: Window | None

    @property
    def increment(self) -> Increment | None:
        return None if self._increments is None else self._increments.increment

    def reads(self) -> Mapping[str, str]:
        return self._asked_increments().reads

    def read_window(self, window: Window) -> None:
        self._window = window

    def _asked_increments(self) -> IncrementsT:
        assert self._increments is not None, "the source does not support incremental reads"
        return self._increments


def reads_in_increments(source: object) -> TypeGuard[Incremental]:
    """Return True if a source supports increments and its job uses them."""
    return isinstance(source, Incremental) and source.increment is not None


def digest(values: Iterable[Any]) -> str:
    """Return a digest that identifies a row by its key and its cursor value."""
    text = json.dumps([None if value is None else str(value) for value in values])
    return urlsafe_b64encode(hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()).decode()


def require_few(digests: Sequence[str] | frozenset[str], what: str) -> None:
    """Raise an error if the state would contain too many digests.

    Raises:
        SourceError: There are too many digests; the message suggests an alternative.
    """
    if len(digests) > MOST_DIGESTS:
        raise SourceError(
            f"{what} exceed the limit of {MOST_DIGESTS:,} in the state, which stores a digest of each of them to "
            "prevent duplicates. Set a smaller lag, or use a column with more distinct values, such as a time with "
            "fractions of a second"
        )
