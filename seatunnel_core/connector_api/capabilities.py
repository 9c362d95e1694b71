"""Optional capabilities of a sink: one protocol each. A sink has a capability if it implements the protocol."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from seatunnel_core.rows.batch import TableSchema

__all__ = ["SupportsDryRun"]


@runtime_checkable
class SupportsDryRun(Protocol):
    """A sink that can inspect its target without changing it, for ``--check``."""

    @abstractmethod
    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        """Log in, find the tables, and compare their columns with the incoming ones. Runs in the driver.

        Args:
            schemas: the incoming tables; ``None`` if they are known only when the data is read.

        Returns:
            The results, a sentence each.

        Raises:
            SinkError: a job that started now would fail: the target cannot be reached, denies access, or cannot accept
                the columns.
        """
