import json
import shutil

import pytest
from minimal_sink import JsonLines

from seatunnel_core.connector_api.testing import SinkConformance


class TestJsonLines(SinkConformance):
    sink_class = JsonLines

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.folder = tmp_path

    def options(self):
        return {"path": str(self.folder)}

    def visible(self):
        return [json.loads(line) for file in self.folder.glob("*.json") for line in file.read_text().splitlines()]

    def staged(self):
        return sum(path.is_file() for path in self.folder.glob(".seatunnel/*/*/*/*"))

    def lose(self):
        shutil.rmtree(self.folder)
        return True
