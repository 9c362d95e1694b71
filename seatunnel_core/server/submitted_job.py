"""A job as it was submitted, read: the same for the agent that accepts it and the host that runs it."""

from attrs import frozen

from seatunnel_core.config.env import JOB_NAME
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import RawJob, read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.server.state.records import JobRecord

FORMATS = {"json": "job.json", "hocon": "job.conf", "yaml": "job.yaml", "sql": "job.sql"}
"""By the format that a request names: a name of a file of that format."""


@frozen
class SubmittedJob:
    """The text of a job, and how it is to be read."""

    text: str
    format: str
    variables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, record: JobRecord) -> "SubmittedJob":
        """Return the job of a record."""
        return cls(record.text, record.format, tuple(record.variables.items()))

    def read(self) -> RawJob:
        """Read the text. Variables are those that were submitted and this process's environment.

        Raises:
            ConfigError: it cannot be parsed, or has problems; the message lists all of them.
        """
        problems = Problems()
        name = FORMATS[self.format]
        raw = read_job(parse(self.text, name, Variables(dict(self.variables)), problems), name, problems)
        problems.raise_errors()
        return raw

    def job_name(self) -> str:
        """Return the name that the job gives itself."""
        return str(self.read().env[JOB_NAME])
