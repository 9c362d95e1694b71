"""Requirements of a job on cluster resources, from its ``env``."""

from collections.abc import Mapping
from functools import lru_cache

from attrs import field, frozen

from seatunnel_core.config.document import Scalar
from seatunnel_core.config.env import ISOLATION, PARALLELISM, TAG_FILTER
from seatunnel_core.config.job_file import Kind, RawBlock, RawJob
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.submitted_job import SubmittedJob


@frozen(kw_only=True)
class Requirements:
    """Requirements of a job."""

    slots: int = 2
    """Number of slots, counted as in SeaTunnel: one per source for planning, and one per parallel reader."""

    readers: tuple[int, ...] = ()
    """Numbers of parallel readers, in the order of the sources; empty if unknown."""

    tags: Mapping[str, str] = field(factory=dict)
    """Attributes that the member must have."""

    own_host: bool = False
    """True if it needs a dedicated worker process, by request or because of options for Spark, Java or Python."""


@lru_cache(maxsize=2_000)
def requirements_of(job: SubmittedJob) -> Requirements:
    """Return the requirements of a job; minimal ones if it is invalid, which the worker process then reports."""
    try:
        raw = job.read()
    except SeaTunnelError:  # the version that accepted the job could parse it
        return Requirements()
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
