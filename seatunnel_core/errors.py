"""Exception hierarchy of ``seatunnel_core``. All errors that concern users derive from ``SeaTunnelError``.

::

    SeaTunnelError
    ├── UsageError                an invalid request on the command line, in Python or in a configuration file
    │   ├── ConfigError           … in a file: every problem of the file at once, each with file, line and remedy
    │   └── JobError              … in the job's graph: cycles, dangling inputs and duplicate names
    ├── ConnectorError            a source, a transform or a sink
    │   ├── SourceError
    │   │   ├── SourceChangedError  the data of a split has changed since it was enumerated
    │   │   └── RowError          one row cannot be read, transformed or written: file, line, column
    │   ├── TransformError
    │   └── SinkError
    │       ├── CommitError
    │       └── RuleError         a rule of ``Assert`` does not hold
    ├── StoredValueError          stored JSON is intact, but has unexpected values: another program wrote it
    ├── PlatformError             Java, Spark or a package is missing, too old or not reachable
    ├── PacketLostError           Spark lost the task that ran work units
    ├── SavepointError            a requested savepoint was not taken; the job itself may be fine
    ├── CopyError                 a job was not copied to another storage
    ├── ProtocolError             the checkpoint protocol: see ``seatunnel_core.checkpoint.errors``
    └── JobFailedError            a pipeline ended with an error

Storage errors have a separate root: ``seatunnel_storage_api.errors.CheckpointStorageError``.
Users see a traceback only for an exception outside these hierarchies, which is a bug.

Each class has a ``code``, which ``seatunnel help CODE`` explains with the class's docstring.
"""

from collections.abc import Sequence
from pathlib import Path
from traceback import extract_tb, format_exception_only, format_list
from typing import Self

from seatunnel_storage_api.errors import code_of

_HOMES = (__name__, "seatunnel_core.checkpoint.errors")
"""Modules in which each class has a code."""


class SeaTunnelError(Exception):
    """An error without a more specific code.

    What the engine did: depends on the plugin that raised it. The message describes the failed operation.

    What to do: follow the message. If it does not help, report it to the plugin's maintainer.
    """

    code = "SEATUNNEL-ERROR"
    """Stable code of the class. A plugin's class inherits its ancestor's code or defines another."""

    retryable = False
    """True if a retry may succeed. Otherwise the pipeline fails. Set it on the class or on the raised error."""

    needs_restart = False
    """True if a retryable error needs a restart of the pipeline, because the driver has lost a resource that it holds
    for its tasks."""

    ends_job = False
    """True to stop the other pipelines of the job with a final checkpoint. Such an error is never retried."""

    stops_cleanly = False
    """True if a poll that fails with this error ends the pipeline with a final checkpoint, which contains the cursor of
    the previous poll. A resumed job then continues from that cursor, and has nothing left to publish.
    """

    findings: tuple[str, ...] = ()
    """Independent findings if the message joins several, one per line. Use ``each_of`` to read them."""

    @classmethod
    def joined(cls, findings: Sequence[str]) -> Self:
        """Return an error with one or several findings."""
        error = cls("\n".join(findings))
        error.findings = tuple(findings)
        return error

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ in _HOMES:
            cls.code = code_of(cls)

    def _render_traceback_(self) -> list[str]:
        """Return the traceback for IPython and notebooks: the caller's lines and the message, without inner frames."""
        between = (str(Path(__file__).parent), "/IPython/core/")
        frames = extract_tb(self.__traceback__)
        callers = [frame for frame in frames if not any(part in frame.filename for part in between)]
        return "".join([*format_list(callers), *format_exception_only(self)]).splitlines()


def each_of(error: Exception) -> tuple[str, ...]:
    """Return the findings of an error, or its message as the only finding."""
    return getattr(error, "findings", ()) or (str(error),)


class UsageError(SeaTunnelError):
    """An invalid request on the command line, in a job file or from Python.

    What the engine did: usually nothing, because requests are checked before a job starts. If an option turns out to be
    invalid while the job runs, only the pipelines that use it fail.

    What to do: follow the message, which contains the alternatives. `seatunnel --help` and `seatunnel help NAME` list
    commands and options.

    Message: there is no sink 'Consol'; did you mean Console?
    """


class ConfigError(UsageError):
    """A job file or `seatunnel.yaml` has problems. The message lists all of them, each with file, line and column.

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 2.

    What to do: correct the reported lines. `seatunnel --check -c FILE` checks the file without moving a row. `seatunnel
    help mistakes` shows common mistakes, `seatunnel help options` lists the options of the engine and of jobs, and
    `seatunnel help Jdbc` lists the options of a connector.

    Message: job.conf:1:11: env has no option 'job.mod'. Did you mean 'job.mode'?
    """


class JobError(UsageError):
    """The parts of a job (inputs, names, columns) do not match each other, or do not match the job's stored state.

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 2.

    What to do: correct the names and columns in the message; `seatunnel --check -c FILE` shows the plan. For a resumed
    job, `seatunnel help restore` lists the permitted changes.

    Message: job.conf:5:3: LocalFile reads from 'peple', but no source or transform has this plugin_output.
    Did you mean 'people'?
    """


class ConnectorError(SeaTunnelError):
    """An error of a source, a transform or a sink without a more specific code.

    What the engine did: depends on the plugin that raised it. The message describes the failed operation.

    What to do: follow the message. If it does not help, report it to the connector's maintainer.
    """


class SourceError(ConnectorError):
    """A source cannot be listed, inspected or read: it is missing, not readable, or does not match its options.

    What the engine did: rows of completed checkpoints stay published; nothing was skipped.

    What to do: correct the cause in the message, then resume with `seatunnel -r JOB_ID`. If an option of the source is
    wrong, correct it if `seatunnel help restore` permits the change, or start a new job.

    Message: people.orc is not an ORC file, or is damaged: …
    """


class SourceChangedError(SourceError):
    """The data of a source changed after the job listed it, so reading it again would give different rows.

    What the engine did: it stopped reading; otherwise a mixture of old and new data would be published.

    Retried: no, because the original data is no longer available. The pipeline fails immediately; other pipelines run
    to completion.

    What to do: restore the data and resume with `seatunnel -r JOB_ID`, or start a new job that reads the current data.
    While a job runs, write new data to new files or tables.

    Message: … changed after it was listed: it was modified (6 bytes when listed, 12 now); start a new job to read its
    current content
    """


class RowError(SourceError):
    """A row is invalid. The message contains the file, the line or row, the column, the value and the expected format.

    What the engine did: no rows of the work unit that contains this row were published.

    Retried: no, because the same row would cause the same error. The pipeline fails immediately; other pipelines run
    to completion.

    What to do: correct the row or the schema. If the connector has the option `row_error_handle_way`, set it to SKIP to
    skip and count invalid rows. `seatunnel help mistakes` shows the messages for invalid files.

    Message: people.csv, line 2, column 'id': 'x' is not a bigint
    """

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column
        """Column of the value, if a sink accepts the row with null in it."""


class TransformError(ConnectorError):
    """A transform cannot be applied to its input columns or rows.

    What the engine did: columns are checked before the job reads or writes data. If a row caused the error, no rows of
    its work unit were published.

    What to do: correct the transform or its input. `seatunnel --check -c FILE` shows the output columns of each
    transform, and `seatunnel help NAME` lists its options.

    Message: Sql: line 1, column 8: there is no column nam; did you mean name?
    """


class SinkError(ConnectorError):
    """A sink cannot prepare its target, write, publish or clean up rows, or does not accept its input columns.

    What the engine did: published output is kept, without duplicates. The next start publishes or removes output that
    was staged but not published.

    What to do: correct the cause in the message, such as the folder, its permissions or the disk space, then resume
    with `seatunnel -r JOB_ID`.

    Message: pipeline 1, sink LocalFile: … contains 'old.csv', and data_save_mode is ERROR_WHEN_DATA_EXISTS; empty the
    folder, choose another folder, or set APPEND_DATA
    """


class CommitError(SinkError):
    """Staged output could not be published, although the checkpoint that refers to it is stored.

    What the engine did: no rows were lost: the checkpoint still records all unpublished output, and each start
    publishes it first. No row is published twice, unless the sink's guarantee is weaker than exactly-once; `seatunnel
    --check` prints the guarantee of each pipeline.

    What to do: check the object in the message. If files in the target or its staging folder were moved, copied or
    deleted, undo that; then resume with `seatunnel -r JOB_ID`.

    Message: pipeline 1, sink LocalFile: the staged file … is missing…
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class RuleError(SinkError):
    """A rule of the `Assert` sink is violated.

    What the engine did: a rule about single rows ends the pipeline at the first violation; a rule about the number of
    rows is checked after all rows are committed. Other sinks may have published rows.

    Retried: no, because the same rows violate the same rule. The pipeline fails immediately; other pipelines run
    to completion.

    What to do: check the rows in the message, then correct the data, the job or the rule.

    Message: Assert: 2 rows, expected MIN_ROW 3
    """


class StoredValueError(SeaTunnelError):
    """A value in a checkpoint, a manifest or an attachment is missing or of the wrong type.

    What the engine did: it did not use the value, and changed nothing. The checksum is intact, so the value was not
    damaged: another version or another program wrote it.

    What to do: run the version that wrote it; `seatunnel help versions` lists which version reads which state. If no
    other version or program has written to this storage, report it as a bug.

    Message: 'epoch' must be a whole number from 0 to …, not 'one'
    """


class PlatformError(SeaTunnelError):
    """Java, Spark, a package or the operating system does not meet the engine's requirements.

    What the engine did: nothing, if the error occurred before the job started. If Spark ended while a job was running,
    all checkpoints are kept.

    What to do: install or start the component named in the message; for Spark clusters see `seatunnel help cluster`. If
    a job was running, resume it with `seatunnel -r JOB_ID`.

    Message: 'spark://here' is not a Spark master: expected spark://HOST:PORT; the port is usually 7077
    """


class PacketLostError(SeaTunnelError):
    """Spark lost the task that ran a work unit, because its worker died, ran out of memory or was disconnected.

    What the engine did: it ran each unit of that task again in a separate task. For each attempt, the message lists the
    failed unit with its files and bytes. No rows of these units were published.

    What to do: find the reason in Spark's log; the final report contains the log's path. A very large row or file can
    crash every worker that reads it: give the workers more memory, or split the file. Then resume with `seatunnel -r
    JOB_ID`.
    """

    retryable = True


class SavepointError(SeaTunnelError):
    """A savepoint was not taken. The job itself may still be running.

    What the engine did: it stored no savepoint with this name. The job's checkpoints are not affected.

    Retried: not automatically. A running job continues to take checkpoints.

    What to do: remove the cause given in the message, then request the savepoint again. If the job has stopped for the
    savepoint, resume it from its latest checkpoint with `seatunnel -r JOB_ID`. See `seatunnel help savepoints`.

    Message: the savepoint nightly was not taken: pipeline 1 (people): …
    """


class CopyError(SeaTunnelError):
    """A job cannot be copied to another storage: a part of it is damaged or missing, or it is running.

    What the engine did: it stopped before it copied the manifest, so the job does not exist at the destination yet; the
    source is unchanged. The next attempt continues the copy.

    Retried: not automatically. The command ends with exit code 1.

    What to do: stop the job if it is running, or find the damaged parts with `seatunnel checkpoints verify` and restore
    them; then copy the job again.

    Message: job 42 was not copied: it has no manifest, so it cannot be resumed
    """


class JobFailedError(SeaTunnelError):
    """A job has ended with at least one failed pipeline. Raised in Python by `run` and `result`.

    What the engine did: the other pipelines ran to completion. All committed rows are kept, including those of the
    failed pipelines.

    Retried: not automatically. The engine has already retried the failures that can be retried.

    What to do: read the message and code of each failed pipeline in the report: `handle.wait().pipelines`. Correct the
    cause and resume the job with `job.submit(restore=JOB_ID)`.

    Message: the job 'cities' (42) failed
      pipeline 1 (cities): …
    """
