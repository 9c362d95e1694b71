"""What a job asks of the hosts of a cluster, as its ``env`` says it."""

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
    """What a job asks for."""

    slots: int = 2
    """As SeaTunnel counts them: each source takes one to be planned, and one for each of its parallel readers."""

    readers: tuple[int, ...] = ()
    """How many read each source at once, in the order of the sources; empty where that is not known."""

    tags: Mapping[str, str] = field(factory=dict)
    """The attributes that its member must have."""

    own_host: bool = False
    """Whether it cannot share a host: it has options of its own for Spark, Java or Python, or wants to be alone."""


@lru_cache(maxsize=2_000)
def requirements_of(job: SubmittedJob) -> Requirements:
    """Return what a job asks for; the least there is when it cannot be read, which its host then reports."""
    try:
        raw = job.read()
    except SeaTunnelError:  # it was accepted by a version that could
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
        except ValueError:  # said by the host, when it plans the job
            return 1
    return int(raw.env[PARALLELISM])
