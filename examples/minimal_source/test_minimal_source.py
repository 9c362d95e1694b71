import pytest
from minimal_source import LogLines

from seatunnel_core.connector_api.testing import SourceConformance


class TestLogLines(SourceConformance):
    source_class = LogLines

    @pytest.fixture(autouse=True)
    def files(self, tmp_path):
        self.folder = tmp_path
        (tmp_path / "a.log").write_text("started\nstopped\n")
        (tmp_path / "b.log").write_text("started\n\nwaits\n")

    def options(self):
        return {"path": str(self.folder)}

    def expected(self):
        lines = [("a.log", 1, "started"), ("a.log", 2, "stopped")]
        lines += [("b.log", 1, "started"), ("b.log", 2, ""), ("b.log", 3, "waits")]
        return [{"file": file, "line": line, "text": text} for file, line, text in lines]
