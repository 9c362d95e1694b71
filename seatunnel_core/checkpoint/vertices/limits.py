"""Limits on the data that one pipeline has in flight."""

from attrs import evolve, frozen


@frozen(kw_only=True)
class Limits:
    """Limits on sizes, numbers and times. They are not configurable; all are at least 1, except the retry limits."""

    target_unit_bytes: int = 128 * 1024 * 1024
    """Size up to which small splits are combined into one work unit."""

    target_unit_rows: int = 5_000_000

    smallest_unit_bytes: int = 4 * 1024 * 1024
    """Minimum size of the units into which the data of a small source is divided for its parallel readers."""

    units_per_reader: int = 4
    """Number of units per parallel reader of a small source, so that the readers finish at about the same time."""

    credits_per_source: int = 256
    """Maximum number of splits of one source in flight: emitted and not yet forwarded (R3)."""

    max_units_in_flight: int = 64
    """Maximum number of work units that one source submits to Spark at a time; its parallelism may reduce it."""

    max_uncommitted: int = 10_000
    """Maximum number of uncommitted committables of one sink. At the limit, its sources get no credit (R1)."""

    max_uncommitted_bytes: int = 64 * 1024 * 1024 * 1024
    """Maximum total size of the uncommitted output of one sink, in bytes."""

    unit_retries: int = 3
    """Maximum number of retries of a work unit in one epoch after transient failures."""

    commit_retries: int = 8
    """Maximum number of consecutive retries of a commit after transient failures."""

    retry_pause_ms: int = 500
    """Pause before the first retry of a unit or a commit; it doubles up to 64 times this value."""

    close_unit_after_ms: int = 100
    """Time after which an incomplete work unit is submitted (R3)."""

    interval_bytes_per_ms: int = 64 * 1024
    """Bytes that a slow processor reads per millisecond. They limit the size of work units for a checkpoint interval:
    a checkpoint only commits finished units, so units must be able to finish within the interval."""

    smallest_interval_bytes: int = 16 * 1024 * 1024
    """Minimum size limit derived from the interval, because a file sink writes at least one file per unit."""

    def within(self, interval_ms: int | None) -> "Limits":
        """Return the limits of a pipeline that takes a checkpoint every ``interval_ms``; ``None`` means no interval."""
        if interval_ms is None:
            return self
        read_bytes = max(self.smallest_interval_bytes, interval_ms * self.interval_bytes_per_ms)
        return evolve(self, target_unit_bytes=min(self.target_unit_bytes, read_bytes))

    def unit_bytes(self, to_come_bytes: int, parallelism: int) -> int:
        """Return the maximum size of a work unit if the source has ``to_come_bytes`` left to read."""
        share = to_come_bytes // (self.units_per_reader * parallelism)
        return min(self.target_unit_bytes, max(self.smallest_unit_bytes, share))

    def unit_splits(self, to_come_splits: int, parallelism: int) -> int:
        """Return the maximum number of splits in a work unit if the source has ``to_come_splits`` left to read."""
        return max(1, to_come_splits // (self.units_per_reader * parallelism))

    def pause_before_retry(self, failures: int) -> int:
        """Return the pause in milliseconds after this number of consecutive failures."""
        return int(self.retry_pause_ms * 2 ** min(failures - 1, 6))
