"""Marker of a staging folder. In an unmarked folder, a missing staged file is not treated as published.

Only the driver creates and marks the folder, at the start of an epoch (protocol rule R8). On some servers, a task that
writes a file also creates its missing parent folders, which then have no marker.
"""

from abc import ABC, abstractmethod

from seatunnel_core.connectors.filesystems.staged_name import PREPARED


class MarkedStaging(ABC):
    """Base class of file systems that create staging folders and later recognize them."""

    @abstractmethod
    def is_folder(self, path: str) -> bool:
        """Return True if there is a folder at ``path``, or a link to one."""

    @abstractmethod
    def remove_if_empty(self, folder: str) -> bool:
        """Remove an empty folder; return True if this call removed it. Never raises."""

    @abstractmethod
    def make_staging(self, folder: str, root: str) -> None:
        """Create a staging folder and its parent, the target ``root``, durably, and check write permission."""

    def prepare_staging(self, folder: str, root: str) -> None:
        """Create a staging folder, and mark it with a subfolder, which no server creates implicitly."""
        self.make_staging(f"{folder}/{PREPARED}", root)

    def unmark(self, folder: str) -> None:
        """Remove the marker of a staging folder that is no longer needed. Never raises."""
        self.remove_if_empty(f"{folder}/{PREPARED}")

    def is_prepared(self, folder: str) -> bool:
        """Return True if the driver has prepared this staging folder and the folder has not been replaced since."""
        return self.is_folder(f"{folder}/{PREPARED}")

    def not_prepared(self, staged: str, target: str) -> str:
        """Return the reason why a staged file may be unpublished; empty if its staging folder is still prepared."""
        folder = staged.rpartition("/")[0]
        if self.is_prepared(folder):
            return ""
        return (
            f"the staging folder {folder} no longer exists, so it is unknown whether {target} was published. The "
            "folder was moved or removed, or its disk is not mounted. Restore it, and resume the job"
        )
