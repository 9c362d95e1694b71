"""Limits on what one pipeline may hold at a time."""

from attrs import evolve, frozen


@frozen(kw_only=True)
class Limits:
    """Bounds of size, number and patience. Every number is at least 1, except the retries, which may be 0.

    No option sets one of them.
    """

    target_unit_bytes: int = 128 * 1024 * 1024
    """Small splits are put together into one work unit up to this weight."""

    target_unit_rows: int = 5_000_000

    smallest_unit_bytes: int = 4 * 1024 * 1024
    """A source with little to read gets smaller units, so that its parallel readers share the work; but not below."""

    units_per_reader: int = 4
    """Number of units that such a source leaves to each parallel reader, so that they end at about the same time."""

    credits_per_source: int = 256
    """Splits of one source that may be in flight: emitted and not yet forwarded (R3)."""

    max_units_in_flight: int = 64
    """Work units of one source given to Spark at a time; what its parallelism asks for, where that is less."""

    max_uncommitted: int = 10_000
    """Committables that one sink may hold before its sources get no more credit (R1)."""

    max_uncommitted_bytes: int = 64 * 1024 * 1024 * 1024
    """The same, by the bytes that the committables stand for."""

    unit_retries: int = 3
    """Maximum retries of a work unit in one epoch, after a transient failure."""

    commit_retries: int = 8
    """Maximum consecutive retries of a commit after a transient failure."""

    retry_pause_ms: int = 500
    """The pause before the first retry of a unit or a commit; doubles up to 64 times itself."""

    close_unit_after_ms: int = 100
    """A work unit that is still being put together is closed after this time (R3)."""

    interval_bytes_per_ms: int = 64 * 1024
    """Bytes that a slow processor reads in a millisecond, so that no work unit outlasts the checkpoint interval: a
    checkpoint commits only what has ended, so one that is taken while no unit can end is of no use."""

    smallest_interval_bytes: int = 16 * 1024 * 1024
    """Minimum size of a unit, whatever the interval: each unit is at least one file of a sink."""

    def within(self, interval_ms: int | None) -> "Limits":
        """Return the limits of a pipeline that takes a checkpoint every ``interval_ms``; ``None`` means no interval."""
        if interval_ms is None:
            return self
        read_bytes = max(self.smallest_interval_bytes, interval_ms * self.interval_bytes_per_ms)
        return evolve(self, target_unit_bytes=min(self.target_unit_bytes, read_bytes))

    def unit_bytes(self, to_come_bytes: int, parallelism: int) -> int:
        """Return the weight up to which splits make one work unit, for a source with so many bytes to come."""
        share = to_come_bytes // (self.units_per_reader * parallelism)
        return min(self.target_unit_bytes, max(self.smallest_unit_bytes, share))

    def unit_splits(self, to_come_splits: int, parallelism: int) -> int:
        """Return how many splits that wait make one work unit at most, of so many to come."""
        return max(1, to_come_splits // (self.units_per_reader * parallelism))

    def pause_before_retry(self, failures: int) -> int:
        """Return how long to wait, in milliseconds, after the ``failures``-th failure in a row (from 1)."""
        return int(self.retry_pause_ms * 2 ** min(failures - 1, 6))
