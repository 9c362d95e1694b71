"""Decision on the encryption of records: they are encrypted if all other masters can read encrypted records."""

import logging
from collections.abc import Collection

logger = logging.getLogger("seatunnel.cluster")


class Readers:
    """Masters that can or cannot read encrypted records, as reported in this term."""

    def __init__(self) -> None:
        self._able: dict[str, bool] = {}

    def forget(self) -> None:
        """Remove all reports at the start of a term."""
        self._able.clear()

    def note(self, address: str, *, able: bool) -> None:
        """Record the report of a master."""
        self._able[address] = able

    def wants_seals(self, others: Collection[str], *, now: bool) -> bool:
        """Return True if records must be encrypted. The setting ``now`` is kept while a master has not reported."""
        unable = sorted(each for each in others if self._able.get(each) is False)
        if unable and now:
            logger.warning(
                "job records are stored unencrypted: %s runs an earlier version, which cannot read encrypted records",
                ", ".join(unable),
            )
        return not unable and (now or all(each in self._able for each in others))
