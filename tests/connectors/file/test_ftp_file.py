"""``FtpFile`` against pyftpdlib's server: the kit's suites, and what a person sees who is refused."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import SourceConformance, options_of, plan, read
from seatunnel_core.connectors.file.ftp import FtpFileSink, FtpFileSource
from seatunnel_core.errors import SourceError
from tests.connectors.file.sink_suite import FileSinkSuite, files_below
from tests.servers.ftpd import PASSWORD, USER, Ftpd

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("ftpd")]

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS = [{"id": number, "name": f"näme {number}"} for number in range(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ftpd]:
    folder = tmp_path_factory.mktemp("ftpd")
    (folder / "root").mkdir()
    server = Ftpd(folder / "root", folder / "log")
    server.process.start()
    yield server
    server.process.kill()


@pytest.fixture
def folder(server: Ftpd, request: pytest.FixtureRequest) -> Path:
    """A place of its own for each test."""
    made = server.root / f"{abs(hash(request.node.nodeid)):x}"
    made.mkdir()
    return made


def login(server: Ftpd) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": server.port, "user": USER, "password": PASSWORD}


class TestSource(SourceConformance):
    source_class = FtpFileSource

    @pytest.fixture(autouse=True)
    def files(self, server: Ftpd, folder: Path) -> None:
        (folder / "deep").mkdir()
        for name, rows in (("a", ROWS[:200]), ("deep/b", ROWS[200:])):
            pq.write_table(pa.Table.from_pylist(rows, COLUMNS), folder / name, row_group_size=50)
        (folder / "_ignored").write_text("not a row")
        self.given = {**login(server), "path": f"/{folder.name}", "file_format_type": "parquet", "split_size": 500}

    def options(self) -> Mapping[str, Any]:
        return self.given

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class TestSink(FileSinkSuite):
    sink_class = FtpFileSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, server: Ftpd, folder: Path) -> None:
        self.folder = folder / "target"
        self.given = {**login(server), "path": f"/{folder.name}/target", "file_format_type": "json"}

    def files(self) -> Mapping[str, bytes]:
        return files_below(self.folder)

    def lose(self) -> bool:
        shutil.rmtree(self.folder)
        return True


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"port": 1}, r"ftp://127\.0\.0\.1:1 cannot be listed: Connection refused"),
        ({"password": "wrong"}, r"cannot be listed: 530 .*[Aa]uthentication failed"),
        ({"path": "/absent/folder"}, r"ftp://127\.0\.0\.1:\d+/absent/folder cannot be listed: No such file"),
    ],
)
def test_a_mistake_is_named_before_anything_is_read(server: Ftpd, wrong: dict[str, Any], says: str) -> None:
    given = {**login(server), "path": "/", "file_format_type": "parquet", **wrong}
    with pytest.raises(SourceError, match=says) as refused:
        FtpFileSource(options_of(FtpFileSource, given)).require_input()
    assert PASSWORD not in str(refused.value)


def test_a_large_file_is_read_in_ranges(server: Ftpd, folder: Path) -> None:
    """Each transfer but the last is broken off when it has enough."""
    rows = [{"id": number, "name": f"{number:0100}"} for number in range(60_000)]
    (folder / "a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {**login(server), "path": f"/{folder.name}", "file_format_type": "json", "split_size": 1_000_000}
    made = FtpFileSource(options_of(FtpFileSource, {**given, "schema": {"fields": {"id": "bigint"}}}))
    found = plan(made)
    assert len(found.splits) > 3
    assert [row["id"] for row in read(made, found)] == list(range(60_000))
