"""Limits on the data that one pipeline may hold at a time."""

from attrs import evolve, frozen


@frozen(kw_only=True)
class Limits:
    """Limits on sizes, numbers and times; no option sets them. The minimum is 1, for retries 0."""

    target_unit_bytes: int = 128 * 1024 * 1024
    """Size up to which small splits are combined into one work unit."""

    target_unit_rows: int = 5_000_000

    smallest_unit_bytes: int = 4 * 1024 * 1024
    """Minimum size of the units of a source with little data, which are made smaller so that its parallel readers share
    them."""

    units_per_reader: int = 4
    """Number of such smaller units per parallel reader, so that the readers end at about the same time."""

    credits_per_source: int = 256
    """Maximum number of splits of one source in flight: emitted and not yet forwarded (R3)."""

    max_units_in_flight: int = 64
    """Maximum number of work units of one source submitted to Spark at a time; its parallelism may limit it further."""

    max_uncommitted: int = 10_000
    """Maximum number of committables that one sink may hold; beyond it, its sources get no credit (R1)."""

    max_uncommitted_bytes: int = 64 * 1024 * 1024 * 1024
    """Maximum total size of the output of these committables."""

    unit_retries: int = 3
    """Maximum retries of a work unit in one epoch, after a transient failure."""

    commit_retries: int = 8
    """Maximum consecutive retries of a commit after a transient failure."""

    retry_pause_ms: int = 500
    """Initial pause before a unit or a commit is retried; it doubles up to 64 times this value."""

    close_unit_after_ms: int = 100
    """Time after which an incomplete work unit is closed (R3)."""

    interval_bytes_per_ms: int = 64 * 1024
    """Number of bytes that a slow processor reads per millisecond. It limits the size of work units in relation to the
    checkpoint interval: a checkpoint commits only finished units, so at least one must be able to finish within it."""

    smallest_interval_bytes: int = 16 * 1024 * 1024
    """Minimum size of a unit, even for a short interval: each unit creates at least one file in a file sink."""

    def within(self, interval_ms: int | None) -> "Limits":
        """Return the limits of a pipeline that takes a checkpoint every ``interval_ms``; ``None`` means no interval."""
        if interval_ms is None:
            return self
        read_bytes = max(self.smallest_interval_bytes, interval_ms * self.interval_bytes_per_ms)
        return evolve(self, target_unit_bytes=min(self.target_unit_bytes, read_bytes))

    def unit_bytes(self, to_come_bytes: int, parallelism: int) -> int:
        """Return the maximum size of a work unit of a source with ``to_come_bytes`` left to read."""
        share = to_come_bytes // (self.units_per_reader * parallelism)
        return min(self.target_unit_bytes, max(self.smallest_unit_bytes, share))

    def unit_splits(self, to_come_splits: int, parallelism: int) -> int:
        """Return the maximum number of splits of a work unit of a source with ``to_come_splits`` left to read."""
        return max(1, to_come_splits // (self.units_per_reader * parallelism))

    def pause_before_retry(self, failures: int) -> int:
        """Return the pause in milliseconds after the ``failures``-th consecutive failure (from 1)."""
        return int(self.retry_pause_ms * 2 ** min(failures - 1, 6))
