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
    ├── SavepointError        a savepoint was asked for and not taken; the job itself may be well
    └── JobFailedError        a pipeline ended with an error

Storage errors have a root of their own: ``seatunnel_storage_api.errors.CheckpointStorageError``.
A traceback reaches a user only for an exception outside these trees: a bug of ours.
"""


class SeaTunnelError(Exception):
    """The root of the tree. Whoever raises an error says what it ends, with two attributes of it or of its class."""

    retryable = False
    """Whether the same thing, tried again, may work. Without it the pipeline has failed."""

    ends_job = False
    """Whether no pipeline of the job should go on: the others take a last checkpoint and stop. Never tried again."""


class UsageError(SeaTunnelError):
    """What was asked for is not possible as it is written."""


class ConfigError(UsageError):
    """A configuration file has problems; the message lists all of them."""


class JobError(UsageError):
    """The graph of a job does not hold together."""


class ConnectorError(SeaTunnelError):
    """Something went wrong in a source, a transform or a sink."""


class SourceError(ConnectorError):
    """A source cannot be listed, inspected or read."""


class SourceChangedError(SourceError):
    """The data of a split changed after it was enumerated, so reading it again would give other rows."""


class RowError(SourceError):
    """One row is not what it should be. Trying again cannot help."""


class TransformError(ConnectorError):
    """A transform cannot be applied to the schema or the rows that reach it."""


class SinkError(ConnectorError):
    """A sink cannot stage, publish or sweep."""


class CommitError(SinkError):
    """Publishing failed."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class RuleError(SinkError):
    """A rule that the job asserts does not hold."""


class StoredValueError(SeaTunnelError):
    """A value in a checkpoint, a manifest or an attachment is missing or of the wrong type. Its seal was intact, so
    another version or another program wrote it."""


class PlatformError(SeaTunnelError):
    """Java, Spark, a package or the operating system is not as the engine needs it; says what to install."""


class SavepointError(SeaTunnelError):
    """A savepoint was not taken. What it was asked of may go on as if nothing had been asked."""


class JobFailedError(SeaTunnelError):
    """A job ended with at least one failed pipeline."""
