"""Cluster resources that a job requires, according to its ``env``."""

from functools import lru_cache

from seatunnel_core.config.document import Scalar
from seatunnel_core.config.env import ISOLATION, PARALLELISM, TAG_FILTER
from seatunnel_core.config.job_file import Kind, RawBlock, RawJob
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.state.records import Requirements
from seatunnel_core.server.submitted_job import SubmittedJob


@lru_cache(maxsize=2_000)
def requirements_of(job: SubmittedJob) -> Requirements:
    """Return the requirements of a job; minimal ones for an invalid job, which the worker process will report."""
    try:
        return requirements_in(job.read(loads_sinks=False))
    except SeaTunnelError:  # the version that accepted the job could parse it
        return Requirements()


def requirements_in(raw: RawJob) -> Requirements:
    """Return the requirements of a parsed job."""
    readers = tuple(_parallelism(raw, block) for block in raw.blocks if block.kind is Kind.SOURCE)
    return Requirements(
        slots=sum(1 + each for each in readers),
        readers=readers,
        tags=dict(raw.env[TAG_FILTER] or {}),
        own_host=bool(raw.spark_options) or raw.env[ISOLATION] == "process",
    )


def _parallelism(raw: RawJob, block: RawBlock) -> int:
    own = block.block.get(PARALLELISM.key)
    if isinstance(own, Scalar):
        try:
            return PARALLELISM.type.parse(own.value)
        except ValueError:  # reported by the worker process when it plans the job
            return 1
    return int(raw.env[PARALLELISM])
