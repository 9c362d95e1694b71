"""What ``seatunnel --check`` sees of targets: whether they let us in, and whether they can take what comes."""

from abc import abstractmethod
from collections.abc import Sequence

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.sink import Sink


class LookingSink(Sink):
    """A sink that can look at its target and change nothing there."""

    @abstractmethod
    def look(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        """Log in, look for the tables, and compare their columns with those that come. Runs in the driver.

        Args:
            schemas: what reaches the sink; ``None`` when that is known only as the data is read.

        Returns:
            What was found, a sentence each.

        Raises:
            SinkError: a job that started now would fail: the target cannot be reached, refuses us, or cannot take the
                columns.
        """
