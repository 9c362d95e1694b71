"""Parser of submitted jobs, used by the agent that accepts a job and by the worker process that runs it."""

import re
from contextlib import AbstractContextManager, nullcontext

from attrs import frozen

from seatunnel_core.config.document import Block, Items, Scalar, Value
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import RawJob, read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.planning.variable_uses import Plugins, refuse_secrets
from seatunnel_core.server.state.records import JobRecord

FORMATS = {"json": "job.json", "hocon": "job.conf", "yaml": "job.yaml", "sql": "job.sql"}
"""Job file names by request format."""


NO_BOUND = nullcontext()

_PATHS = {"path", "tmp_path"}
_ABSOLUTE = re.compile("(file:(//)?)?/")


@frozen
class SubmittedJob:
    """Text of a submitted job, with its format and variables."""

    text: str
    format: str
    variables: tuple[tuple[str, str], ...] = ()
    origin: str = ""
    """Name of the job file, for messages; empty if unknown."""

    @classmethod
    def of(cls, record: JobRecord) -> "SubmittedJob":
        """Return the job of a record."""
        return cls(record.text, record.format, tuple(record.variables.items()), record.origin)

    def read(self, *, loads_sinks: bool = True) -> RawJob:
        """Parse the job with the submitted variables and this process's environment; raise ``ConfigError`` if invalid.

        The event loop of a node does not run plugins, so it sets ``loads_sinks`` to False (see
        ``Variables.loads_sinks``).
        """
        raw = self._read(loads_sinks=loads_sinks)
        raw.problems.raise_errors()
        return raw

    def accepted(self, plugins: Plugins | None = None, *, within: AbstractContextManager[None] = NO_BOUND) -> RawJob:
        """Parse the job in the context ``within``, and check that a cluster can accept it.

        Raises:
            ConfigError: The job cannot be parsed. Other errors, such as secret values that would be stored, are in the
                problems of the result, so that the planner can report all of them.
        """
        with within:
            raw = self._read()
        origin = self.origin or FORMATS[self.format]
        refuse_secrets(self.text, origin, dict(self.variables), raw.problems, plugins=plugins)
        require_absolute_paths(raw, raw.problems)
        return raw

    def _read(self, *, loads_sinks: bool = True) -> RawJob:
        problems, file = Problems(), FORMATS[self.format]
        origin = self.origin or file
        variables = Variables(dict(self.variables), of_node=True, loads_sinks=loads_sinks)
        return read_job(parse(self.text, origin, variables, problems, like=file), origin, problems)


def require_absolute_paths(raw: RawJob, problems: Problems) -> None:
    """Report the relative paths of a job, because each node would resolve them differently."""
    for block in raw.blocks:
        if block.identifier.lower() == "localfile":
            _require_absolute(block.block, problems)


def _require_absolute(value: Value, problems: Problems) -> None:
    """Report the relative paths in the options of a connector."""
    for entry in value if isinstance(value, Block) else ():
        path = entry.value
        if not (entry.key in _PATHS and isinstance(path, Scalar)):
            _require_absolute(path, problems)
        elif isinstance(path.value, str) and not _ABSOLUTE.match(path.value):
            problems.error(
                f"option {entry.key!r}: {path.value!r} is relative, but each node of a cluster has its own working "
                "folder: use an absolute path, which begins with /",
                entry.position,
                f'Alternatively, set {entry.key} = "${{folder}}/{path.value}", and start the job with -i folder="$PWD"',
            )
    for each in value.values if isinstance(value, Items) else ():
        _require_absolute(each, problems)
