"""The error tree of ``seatunnel_core``. Everything that a user can cause or meet derives from ``SeaTunnelError``.

::

    SeaTunnelError
    ├── UsageError            the command line, the Python API or a configuration file asks for something impossible
    │   ├── ConfigError       … in a file: every problem of the file at once, each with file, line and what to write
    │   └── JobError          … in the job's graph: cycles, dangling and doubled names
    ├── ConnectorError        a source, a transform or a sink
    │   ├── SourceError
    │   │   ├── SourceChangedError   a split is no longer what was enumerated
    │   │   └── RowError             one row cannot be read, transformed or written: file, line, column
    │   ├── TransformError
    │   └── SinkError
    │       ├── CommitError
    │       └── RuleError     an ``Assert`` rule does not hold
    ├── StoredValueError      stored JSON is intact, but not what its reader wrote: another program's, or a forgery
    ├── PlatformError         Java, Spark or a package is missing, too old or not reachable
    ├── PacketLostError       Spark lost the task that ran work units
    ├── SavepointError        a savepoint was asked for and not taken; the job itself may be well
    ├── CopyError             a job was not copied to another storage
    ├── ProtocolError         the checkpoint protocol: see ``seatunnel_core.checkpoint.errors``
    └── JobFailedError        a pipeline ended with an error

Storage errors have a root of their own: ``seatunnel_storage_api.errors.CheckpointStorageError``.
A traceback reaches a user only for an exception outside these trees: a bug of ours.

Each class has a ``code``, which ``seatunnel help CODE`` explains with what its docstring says.
"""

from collections.abc import Sequence
from pathlib import Path
from traceback import extract_tb, format_exception_only, format_list
from typing import Self

from seatunnel_storage_api.errors import code_of

_HOMES = (__name__, "seatunnel_core.checkpoint.errors")
"""The modules whose classes have a code each."""


class SeaTunnelError(Exception):
    """Something went wrong that has no narrower code.

    What the engine did: what a plugin does that has no code of its own. The message says what was tried.

    What to do: what the message says. If it does not help, show it to who maintains the plugin.
    """

    code = "SEATUNNEL-ERROR"
    """Stable, for people and programs. A plugin's class has that of its nearest ancestor, or one of its own."""

    retryable = False
    """Whether the same thing, tried again, may work. Without it the pipeline has failed. Whoever raises an error sets
    it, on the error or on its class."""

    needs_restart = False
    """Whether of what is retryable another attempt cannot help, but a new start of the pipeline may: what the driver
    holds open for its tasks is gone."""

    ends_job = False
    """Whether no pipeline of the job should go on: the others take a last checkpoint and stop. Never tried again."""

    findings: tuple[str, ...] = ()
    """Independent findings, if the message joins several, a line each. Use ``each_of`` to read them."""

    @classmethod
    def joined(cls, findings: Sequence[str]) -> Self:
        """Return an error with several findings, or with the only one."""
        error = cls("\n".join(findings))
        error.findings = tuple(findings)
        return error

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ in _HOMES:
            cls.code = code_of(cls)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and notebooks show: the caller's lines and the message, without what lies between."""
        between = (str(Path(__file__).parent), "/IPython/core/")
        frames = extract_tb(self.__traceback__)
        callers = [frame for frame in frames if not any(part in frame.filename for part in between)]
        return "".join([*format_list(callers), *format_exception_only(self)]).splitlines()


def each_of(error: Exception) -> tuple[str, ...]:
    """Return the findings of an error: its message, if it joins no several ones."""
    return getattr(error, "findings", ()) or (str(error),)


class UsageError(SeaTunnelError):
    """What was asked for is not possible as it is written: on the command line, in a job file or from Python.

    What the engine did: mostly nothing, because it looks before it starts. When an option shows to be wrong while the
    job runs, only the pipelines that have it fail.

    What to do: what the message says; it names what may be written instead. `seatunnel --help` and `seatunnel help
    NAME` list what there is.

    Message: there is no sink 'Consol'; did you mean Console?
    """


class ConfigError(UsageError):
    """A job file or `seatunnel.yaml` has problems. The message lists all of them, each with file, line and column.

    What the engine did: nothing. The job was not started, and no row moved.

    What to do: correct each line. `seatunnel --check -c FILE` checks it again without moving a row. `seatunnel help
    mistakes` shows frequent mistakes, `seatunnel help options` the options of the engine and of jobs, and `seatunnel
    help Jdbc` those of a connector.

    Message: job.conf:1:11: env has no option 'job.mod'. Did you mean 'job.mode'?
    """


class JobError(UsageError):
    """The parts of a job (inputs, names, columns) do not fit together, or no longer fit what is stored of the job.

    What the engine did: nothing. The job was not started, and no row moved.

    What to do: correct the names and columns that the message lists; `seatunnel --check -c FILE` shows the plan. Of a
    job that is resumed, `seatunnel help restore` says what may change.

    Message: job.conf:5:3: LocalFile takes its rows from 'peple', which no source or transform gives as plugin_output.
    Did you mean 'people'?
    """


class ConnectorError(SeaTunnelError):
    """Something went wrong in a source, a transform or a sink that has no narrower code.

    What the engine did: what a plugin does that has no code of its own. The message says what was tried.

    What to do: what the message says. If it does not help, show it to who maintains the connector.
    """


class SourceError(ConnectorError):
    """A source cannot be listed, looked into or read: it is not there, may not be read, or is not what its options say.

    What the engine did: what was read before stays, and was published with its checkpoint; nothing was skipped.

    What to do: put right what the message names, then go on with `seatunnel -r JOB_ID`. When an option of the source is
    wrong, `seatunnel help restore` says what may change; else start a new job.

    Message: people.orc is not an ORC file, or is damaged: …
    """


class SourceChangedError(SourceError):
    """The data of a source changed after the job listed them, so reading them again would give other rows.

    What the engine did: it read nothing more of it, because a part of each state would be published.

    Tried again: no, because they stay changed. The pipeline has failed at once, and the others go on to their end.

    What to do: put the data back as they were and go on with `seatunnel -r JOB_ID`, or start a new job that reads them
    as they are now. Write new data under new names while a job runs.

    Message: … changed after it was listed: it had 6 bytes and now has 12, or was written again; start a new job to read
    it as it is now
    """


class RowError(SourceError):
    """One row is not what it should be: the message names file, line or row, column, value and what was expected.

    What the engine did: nothing of the work unit with this row was published.

    Tried again: no, because the same row gives the same error. The pipeline has failed at once, and the others go on to
    their end.

    What to do: correct the row or the schema. Where the connector has the option `row_error_handle_way`, SKIP leaves
    bad rows out and counts them. `seatunnel help mistakes` shows what is said of bad files.

    Message: people.csv, line 2, column 'id': 'x' is not a bigint
    """

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column
        """The column of the value, where a sink can take the row with null in it."""


class TransformError(ConnectorError):
    """A transform cannot be applied to the columns or the rows that reach it.

    What the engine did: columns are looked at before any row moves, and then nothing has started. Of rows, nothing of
    the work unit that met this was published.

    What to do: correct the transform or the rows before it. `seatunnel --check -c FILE` shows the columns behind each
    transform, and `seatunnel help NAME` the options of one.

    Message: Sql: line 1, column 8: there is no column nam; did you mean name?
    """


class SinkError(ConnectorError):
    """A sink cannot be prepared, written to, published to or swept, or cannot take the columns that reach it.

    What the engine did: what was published before stays, once. What was staged since is taken up or removed by the next
    start.

    What to do: put right what the message names, such as the folder, its permissions or its room, then go on with
    `seatunnel -r JOB_ID`.

    Message: pipeline 1, sink LocalFile: … holds 'old.csv' and data_save_mode is ERROR_WHEN_DATA_EXISTS; empty the
    folder, choose another, or write APPEND_DATA
    """


class CommitError(SinkError):
    """What a sink has staged could not be published, though the checkpoint that holds it is stored.

    What the engine did: nothing was lost: the checkpoint still names all that is to be published, and each start tries
    that first. What is published already is not published twice, unless the sink promises less than that: `seatunnel
    --check` prints each pipeline's guarantee.

    What to do: look at what the message names. When somebody moved, copied or deleted files of the target or of its
    staging folder, undo that; then go on with `seatunnel -r JOB_ID`.

    Message: pipeline 1, sink LocalFile: … was staged and is gone…
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class RuleError(SinkError):
    """A rule that the sink `Assert` checks does not hold.

    What the engine did: rules about single rows end the pipeline at the first row that breaks one; rules about the
    number of rows are looked at when all is committed. Sinks beside `Assert` may have published rows.

    Tried again: no, because the same rows break the same rule. The pipeline has failed at once, and the others go on to
    their end.

    What to do: look at the rows that the message shows, then correct the data, the job or the rule.

    Message: Assert: 2 rows, expected MIN_ROW 3
    """


class StoredValueError(SeaTunnelError):
    """A value in a checkpoint, a manifest or an attachment is missing or of the wrong type.

    What the engine did: nothing of it was used, and nothing was changed. The seal of the value is intact, so another
    version or another program wrote it.

    What to do: run the version that wrote it; `seatunnel help versions` says which version reads what. If no other
    version and no other program wrote there, report it as a bug.

    Message: 'epoch' must be a whole number from 0 to …, not 'one'
    """


class PlatformError(SeaTunnelError):
    """Java, Spark, a package or the operating system is not as the engine needs it.

    What the engine did: nothing, when it says so at the start. When Spark ends while a job runs, all that is in a
    checkpoint is kept.

    What to do: install or start what the message names; `seatunnel help cluster` is about Spark clusters. A job that
    had begun goes on with `seatunnel -r JOB_ID`.

    Message: expected a Spark master as spark://HOST:PORT, mostly with port 7077, not 'spark://here'
    """


class PacketLostError(SeaTunnelError):
    """Spark lost the task that ran a work unit: its worker died, ran out of memory, or was cut off.

    What the engine did: it ran each unit of that task again by itself. The message names the unit that went down with
    each attempt, with the files and bytes that it reads; nothing of it was published.

    What to do: look for the reason in Spark's log, which the closing table names. One very large row or file can take
    every worker with it: give the workers more memory, or split it. Then go on with `seatunnel -r JOB_ID`.
    """

    retryable = True


class SavepointError(SeaTunnelError):
    """A savepoint was not taken. What it was asked of may go on as if nothing had been asked.

    What the engine did: it kept no savepoint of this name. The job's checkpoints are not touched by it.

    Tried again: not by itself. A job that goes on takes its checkpoints as before.

    What to do: ask again when the reason in the message is gone. A job that was to stop with the savepoint goes on with
    `seatunnel -r JOB_ID` from its latest checkpoint if it has stopped. `seatunnel help savepoints` says more.

    Message: the savepoint nightly was not taken: pipeline 1 (people): …
    """


class CopyError(SeaTunnelError):
    """A job cannot be copied to another storage as it is: a part of it is damaged or missing, or it runs.

    What the engine did: it stopped before the manifest, so that no job exists at the destination; the source is as it
    was. What was copied so far is taken up by the next copy.

    Tried again: not by itself. The command ends with exit code 1.

    What to do: stop the job if it runs; look with `seatunnel checkpoints verify` what is damaged; then copy again.

    Message: job 42 is not copied: it has no manifest, so it cannot be resumed anywhere
    """


class JobFailedError(SeaTunnelError):
    """A job has ended with at least one failed pipeline. Raised in Python, by `run` and `result`.

    What the engine did: the other pipelines went on to their end and stay committed; so does all that the failed ones
    had committed before.

    Tried again: not by itself. What may pass was tried again before.

    What to do: each failed pipeline has its own message, and its code in the report: `handle.wait().pipelines`. Put
    that right and go on with `job.submit(restore=JOB_ID)`.

    Message: the job 'cities' (42) failed
      pipeline 1 (cities): …
    """
