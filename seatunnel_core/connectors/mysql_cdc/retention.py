"""Retention of the binary log, which limits how long a job can be stopped before it cannot be resumed."""

from collections.abc import Mapping

from attrs import frozen

from seatunnel_core.quantity import duration

_SECONDS, _DAYS, _BYTES = "binlog_expire_logs_seconds", "expire_logs_days", "max_binlog_total_size"
_PURGES = "binlog_expire_logs_auto_purge"
SETTINGS = (_SECONDS, _DAYS, _BYTES, _PURGES)
"""Names of the server settings for retention. Each server version has only some of them."""

_DAY_S = 86_400
LEAST_S = _DAY_S
"""Retention time below which a warning is shown, in seconds."""

_ADVISED_DAYS = 7


@frozen(kw_only=True)
class Retention:
    """Retention limits of a server's log."""

    limit_s: float | None
    """Time for which the server keeps a log file, in seconds; ``None`` for no limit."""

    limit_bytes: int | None
    """Total size above which the server removes the oldest log files, in bytes; ``None`` for no limit."""

    setting: str
    """Name of the setting for the retention time."""

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "Retention":
        """Return the limits in a server's settings."""
        seconds = float(settings.get(_SECONDS, 0)) or float(settings.get(_DAYS, 0)) * _DAY_S
        purges = settings.get(_PURGES, "ON").upper() in ("ON", "1")
        return cls(
            limit_s=seconds if seconds and purges else None,
            limit_bytes=int(settings.get(_BYTES, 0)) or None,
            setting=_SECONDS if _SECONDS in settings else _DAYS,
        )

    def note(self) -> str:
        """Return a sentence about the limits for ``--check``."""
        limits = [] if self.limit_s is None else [f"for {_shown(self.limit_s)}"]
        limits += [] if self.limit_bytes is None else [f"up to a size of {self.limit_bytes:,} bytes ({_BYTES})"]
        return f"the server keeps its log {' and '.join(limits) or 'without a limit'}"

    def warning(self) -> str | None:
        """Return a warning with a remedy if a short pause of the job may lose changes; ``None`` otherwise."""
        if self.limit_s is None or self.limit_s >= LEAST_S:
            return None
        value = _ADVISED_DAYS * (_DAY_S if self.setting == _SECONDS else 1)
        return (
            f"the server keeps its log for only {_shown(self.limit_s)}, so a job that is stopped for longer cannot "
            f"be resumed. Run SET GLOBAL {self.setting} = {value}, and add it to the configuration of the server"
        )


def _shown(seconds: float) -> str:
    days = seconds / _DAY_S
    return duration(seconds) if days < 1 else "1 day" if days == 1 else f"{days:.4g} days"
