"""The kit's suite of a sink as sinks of files play it, wherever their files are."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seatunnel_core.connector_api.testing import SinkConformance
from seatunnel_core.connectors.filesystems.staged_name import PREPARED

STAGING = "/.seatunnel/"


class FileSinkSuite(SinkConformance):
    """Of a sink that writes JSON lines: all that there is to see are the files of its target."""

    given: Mapping[str, Any]
    """Its options."""

    @abstractmethod
    def files(self) -> Mapping[str, bytes]:
        """What there is in the target by its path, staged files too."""

    def options(self) -> Mapping[str, Any]:
        return self.given

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def staged(self) -> int:
        return sum(STAGING in path and not path.endswith(f"/{PREPARED}") for path in self.files())

    def visible(self) -> Sequence[Mapping[str, Any]]:
        shown = [body for path, body in self.files().items() if STAGING not in path]
        return [json.loads(line) for body in shown for line in body.splitlines()]


def files_below(folder: Path) -> Mapping[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
