"""Errors of change data capture that have a help page, which ``seatunnel help`` shows without loading a connector."""

from seatunnel_core.errors import SourceChangedError, SourceError


class CaptureSetupError(SourceError):
    """The database is not set up for change data capture: a log setting, a privilege or a publication is missing.

    What the engine did: it read nothing. `--check` reports the same problem.

    Retried: no, because only an administrator of the database can change it.

    What to do: run the statements in the message. PostgreSQL needs `wal_level = logical` (and a restart), and a user
    with REPLICATION that may read the tables. MySQL and MariaDB need `log_bin`, `binlog_format = ROW`,
    `binlog_row_image = FULL`, no `binlog_row_value_options`, and the privileges REPLICATION SLAVE and REPLICATION
    CLIENT. New values of these settings apply only to new sessions, so applications that write to the database must
    reconnect.
    """

    code = "CAPTURE-SETUP"


class ColumnsChangedError(SourceChangedError):
    """The columns of a captured table have changed.

    What the engine did: it wrote all changes up to the position in the message, took a checkpoint there and stopped. It
    wrote no later changes.

    Retried: no, because the target does not have the new columns yet.

    What to do: apply the same change to the columns of the target, for example with the same ALTER TABLE. Then resume
    the job with the command that it printed (`seatunnel -r JOB_ID`): it continues at that position with the new
    columns.
    """

    code = "COLUMNS-CHANGED"
    stops_cleanly = True


class LogRemovedError(SourceChangedError):
    """The server has removed a part of its binary log that the job had not read yet.

    What the engine did: it stopped before the gap, because the changes in it are lost.

    Retried: no, because the server cannot restore the log.

    What to do: start a new job, which reads the tables again. Configure the server to keep its log for longer than the
    longest pause of the job (`binlog_expire_logs_seconds`, or `expire_logs_days` on MariaDB and MySQL 5.7), and do not
    purge the log beyond the oldest position that the job shows.
    """

    code = "LOG-REMOVED"


class SlotInUseError(SourceError):
    """Another process reads the replication slot of the job.

    What the engine did: it did not read from the slot, because each of two readers would discard changes that the other
    one needs.

    Retried: yes, for some time, because an earlier process of the same job may still hold the slot. If it does not
    release the slot, or if it belongs to another job, the pipeline fails.

    What to do: if an earlier process of the same job held the slot, wait: the server detects that the process has ended
    after at most `wal_sender_timeout`. Otherwise choose another `slot.name` for one of the jobs. `SELECT active_pid
    FROM pg_replication_slots` shows the server process that uses the slot.
    """

    code = "SLOT-IN-USE"
    retryable = True


class SlotTakenError(SlotInUseError):
    """Another job or program uses the slot, and has not released it for some time. Each job needs its own slot."""

    retryable = False


class SlotChangedError(SourceChangedError):
    """The replication slot can no longer return the requested range."""


class SlotMissingError(SlotChangedError):
    """The replication slot does not exist, or is not a logical slot with ``pgoutput``.

    What the engine did: it stopped. Without a slot, the server does not retain its log, so changes since the last
    checkpoint may be lost.

    Retried: no, because a new slot does not contain the changes of the dropped slot.

    What to do: start a new job, which creates the slot and reads the tables again. If the name was wrong, set
    `slot.name` to the name of the existing slot.
    """

    code = "SLOT-MISSING"


class SlotLostError(SlotChangedError):
    """The server has removed a part of its log that the replication slot needs, or has invalidated the slot.

    What the engine did: it stopped, because changes are lost.

    Retried: no, because the server cannot restore the log.

    What to do: drop the slot with `seatunnel slots drop -c FILE`, and start a new job, which reads the tables again.
    Set `max_slot_wal_keep_size` on the server high enough for the longest pause of the job, and monitor
    `seatunnel_source_lag_bytes`.
    """

    code = "SLOT-LOST"


class SlotAdvancedError(SlotChangedError):
    """The replication slot was confirmed beyond the position at which the job continues.

    What the engine did: it stopped, because the server would silently skip the transactions in between.

    Retried: no, because a slot cannot be moved back.

    What to do: if an older state was restored, such as a savepoint or a copy of the job in another storage, resume from
    the newest checkpoint instead. If another job or program has used the slot, give each of them its own `slot.name`,
    and start a new job, which reads the tables again.
    """

    code = "SLOT-ADVANCED"
