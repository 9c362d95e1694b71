"""A job as it was submitted, read: the same for the agent that accepts it and the host that runs it."""

import re
from contextlib import AbstractContextManager, nullcontext

from attrs import frozen

from seatunnel_core.config.document import Block, Items, Scalar, Value
from seatunnel_core.config.env import JOB_NAME
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import RawJob, read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.planning.variable_uses import Plugins, refuse_secrets
from seatunnel_core.server.state.records import JobRecord

FORMATS = {"json": "job.json", "hocon": "job.conf", "yaml": "job.yaml", "sql": "job.sql"}
"""By the format that a request names: a name of a file of that format."""


NO_BOUND = nullcontext()

_PATHS = {"path", "tmp_path"}
_ABSOLUTE = re.compile("(file:(//)?)?/")


@frozen
class SubmittedJob:
    """The text of a job, and how it is to be read."""

    text: str
    format: str
    variables: tuple[tuple[str, str], ...] = ()
    origin: str = ""
    """The user's name of the file, for messages; empty when it is not known."""

    @classmethod
    def of(cls, record: JobRecord) -> "SubmittedJob":
        """Return the job of a record."""
        return cls(record.text, record.format, tuple(record.variables.items()), record.origin)

    def read(self) -> RawJob:
        """Read the text. Variables are those that were submitted and this process's environment.

        Raises:
            ConfigError: it cannot be parsed, or has problems; the message lists all of them.
        """
        raw = self._read()
        raw.problems.raise_errors()
        return raw

    def accepted(self, plugins: Plugins | None = None, *, within: AbstractContextManager[None] = NO_BOUND) -> RawJob:
        """Read the text, if a cluster can take it.

        Args:
            plugins: to know the options that plugins declare to be secret.
            within: a context in which the text is parsed.

        Raises:
            ConfigError: it cannot be parsed. Other errors, values of secrets that would be stored among them, are in
                the problems of the result, for the planner to report all.
        """
        with within:
            raw = self._read()
        origin = self.origin or FORMATS[self.format]
        refuse_secrets(self.text, origin, dict(self.variables), raw.problems, plugins=plugins)
        require_absolute_paths(raw, raw.problems)
        return raw

    def accepted_name(self) -> str:
        """Return the name that the job gives itself, if a cluster can take it.

        Raises:
            ConfigError: it cannot be read, has paths that each node would take for another file, or came with the
                values of secrets, which would be stored; the message lists all of them.
        """
        raw = self.accepted()
        raw.problems.raise_errors()
        return str(raw.env[JOB_NAME])

    def _read(self) -> RawJob:
        problems, file = Problems(), FORMATS[self.format]
        origin = self.origin or file
        variables = Variables(dict(self.variables), of_node=True)
        return read_job(parse(self.text, origin, variables, problems, like=file), origin, problems)


def require_absolute_paths(raw: RawJob, problems: Problems) -> None:
    """Report the relative paths of a job: each node would take them for another file."""
    for block in raw.blocks:
        if block.identifier.lower() == "localfile":
            _require_absolute(block.block, problems)


def _require_absolute(value: Value, problems: Problems) -> None:
    """Report the relative paths in the options of a connector: nodes have working folders of their own."""
    for entry in value if isinstance(value, Block) else ():
        path = entry.value
        if not (entry.key in _PATHS and isinstance(path, Scalar)):
            _require_absolute(path, problems)
        elif isinstance(path.value, str) and not _ABSOLUTE.match(path.value):
            problems.error(
                f"option {entry.key!r}: {path.value!r} is relative, and the nodes of a cluster have working folders of "
                "their own: write a path that begins with /",
                entry.position,
                f'Or {entry.key} = "${{folder}}/{path.value}", and -i folder="$PWD"',
            )
    for each in value.values if isinstance(value, Items) else ():
        _require_absolute(each, problems)
