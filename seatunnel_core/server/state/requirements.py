"""Requirements of a job on cluster resources, as its record stores them."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.stored_fields import Stored


@frozen(kw_only=True)
class Requirements(Stored):
    """Requirements of a job."""

    slots: int = 2
    """Number of slots, counted as in SeaTunnel: one per source for planning, and one per parallel reader."""

    readers: tuple[int, ...] = ()
    """Numbers of parallel readers, in the order of the sources; empty if unknown."""

    tags: Mapping[str, str] = field(factory=dict)
    """Attributes that the member must have."""

    own_host: bool = False
    """True if it needs a dedicated worker process, by request or because of options for Spark, Java or Python."""
