"""The mark by which a staging folder is recognised: a missing staged file proves nothing in another folder.

Only the driver creates and marks the folder, at the start of an epoch (protocol rule R8). On some servers a task
creates missing folders on the way to its file; such a folder has no mark.
"""

from abc import ABC, abstractmethod

from seatunnel_core.connectors.filesystems.staged_name import PREPARED


class MarkedStaging(ABC):
    """The part of a file system that creates staging folders and recognises them."""

    @abstractmethod
    def is_folder(self, path: str) -> bool:
        """Return whether there is a folder at ``path``, also by way of a link."""

    @abstractmethod
    def remove_if_empty(self, folder: str) -> bool:
        """Remove an empty folder, and return whether this call did it. Never raises."""

    @abstractmethod
    def make_staging(self, folder: str, root: str) -> None:
        """Create a staging folder and the target ``root`` above it, and check that the folder can be written.

        Both survive a crash when this returns. The folder may exist already.
        """

    def prepare_staging(self, folder: str, root: str) -> None:
        """Create a staging folder as ``make_staging`` does, with the mark by which ``is_prepared`` recognises it.

        The mark is a folder: no server creates it on the way to a staged file.
        """
        self.make_staging(f"{folder}/{PREPARED}", root)

    def unmark(self, folder: str) -> None:
        """Remove the mark of a staging folder that is not needed any more. Never raises."""
        self.remove_if_empty(f"{folder}/{PREPARED}")

    def is_prepared(self, folder: str) -> bool:
        """Return True if the driver has prepared this staging folder, and it has not been replaced since."""
        return self.is_folder(f"{folder}/{PREPARED}")

    def not_prepared(self, staged: str, target: str) -> str:
        """Return why it is unknown whether a staged file was published; empty if its staging folder is the same one."""
        folder = staged.rpartition("/")[0]
        if self.is_prepared(folder):
            return ""
        return (
            f"the staging folder {folder} is gone, so it is not known whether {target} was published: it was moved or "
            "removed, or its disk is not mounted. Put it back, and resume the job"
        )
