"""The rule by which a leader encrypts records: every other master has said that it can read them."""

import logging
from collections.abc import Collection

logger = logging.getLogger("seatunnel.cluster")


class Readers:
    """The answers of the other masters, in this term, to whether they can read encrypted records."""

    def __init__(self) -> None:
        self._able: dict[str, bool] = {}

    def forget(self) -> None:
        """Forget all of them: another term begins."""
        self._able.clear()

    def note(self, address: str, *, able: bool) -> None:
        """Take in what a master says of itself."""
        self._able[address] = able

    def wants_seals(self, others: Collection[str], *, now: bool) -> bool:
        """Return whether records are to be encrypted; as they are now while it is not known of a master.

        Args:
            others: the masters that are known to live, without the leader.
            now: whether they are encrypted.
        """
        unable = sorted(each for each in others if self._able.get(each) is False)
        if unable and now:
            logger.warning(
                "the records of jobs are stored without encryption: %s cannot read encrypted ones, because an earlier "
                "version runs there",
                ", ".join(unable),
            )
        return not unable and (now or all(each in self._able for each in others))
