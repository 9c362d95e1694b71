"""``SftpFile`` against OpenSSH's server: the kit's suites, and what a person sees who is refused."""

import getpass
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import SourceConformance, commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.ftp import SftpFileSink, SftpFileSource
from seatunnel_core.errors import CommitError, SinkError, SourceError
from tests.connectors.file.sink_suite import FileSinkSuite, files_below
from tests.servers.sshd import Sshd

pytestmark = [pytest.mark.servers, pytest.mark.twin, pytest.mark.xdist_group("sshd")]

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS = [{"id": number, "name": f"näme {number}"} for number in range(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    pytest.importorskip("paramiko")
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    server.process.start()
    yield server
    server.process.kill()


def login(server: Sshd) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": server.port,
        "user": getpass.getuser(),
        "private_key_path": str(server.folder / "user_key"),
    }


class TestSource(SourceConformance):
    source_class = SftpFileSource

    @pytest.fixture(autouse=True)
    def files(self, server: Sshd, tmp_path: Path) -> None:
        (tmp_path / "deep").mkdir()
        for name, rows in (("a", ROWS[:200]), ("deep/b", ROWS[200:])):
            pq.write_table(pa.Table.from_pylist(rows, COLUMNS), tmp_path / name, row_group_size=50)
        (tmp_path / "c").symlink_to(tmp_path / "deep" / "b")
        (tmp_path / "_ignored").write_text("not a row")
        self.given = {**login(server), "path": str(tmp_path), "file_format_type": "parquet", "split_size": 500}

    def options(self) -> Mapping[str, Any]:
        return self.given

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [*ROWS, *ROWS[200:]]


class TestSink(FileSinkSuite):
    sink_class = SftpFileSink

    @pytest.fixture(autouse=True)
    def target(self, server: Sshd, tmp_path: Path) -> None:
        self.folder = tmp_path / "target"
        self.given = {**login(server), "path": str(self.folder), "file_format_type": "json"}

    def files(self) -> Mapping[str, bytes]:
        return files_below(self.folder)

    def lose(self) -> bool:
        shutil.rmtree(self.folder)
        return True


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"port": 1}, r"sftp://127\.0\.0\.1:1 cannot be .*(Unable to connect|refused)"),
        ({"user": "nobody-of-this-name"}, "cannot be listed: Authentication failed"),
        ({"host": "no-such-host.invalid"}, "sftp://no-such-host.invalid:.* cannot be listed: .*(not known|resolution)"),
        ({"path": "/absent/folder"}, r"sftp://127\.0\.0\.1:\d+/absent/folder cannot be listed: No such file"),
    ],
)
def test_a_mistake_is_named_before_anything_is_read(server: Sshd, wrong: dict[str, Any], says: str) -> None:
    given = {**login(server), "path": "/", "file_format_type": "parquet", **wrong}
    with pytest.raises(SourceError, match=says):
        SftpFileSource(options_of(SftpFileSource, given)).require_input()


def test_a_server_that_comes_back_costs_no_row(server: Sshd, tmp_path: Path) -> None:
    """The attempt fails, is worth another one, and that one connects again."""
    pq.write_table(pa.Table.from_pylist(ROWS, COLUMNS), tmp_path / "a")
    given = {**login(server), "path": str(tmp_path), "file_format_type": "parquet"}
    source = SftpFileSource(options_of(SftpFileSource, given))
    found = plan(source)
    target = {**login(server), "path": str(tmp_path / "out"), "file_format_type": "json"}
    sink = SftpFileSink(options_of(SftpFileSink, target))
    sink.prepare(sink_place(place()))
    committable = stage(sink, SCHEMA, [numbered(0, 3)], place())
    children = Path(f"/proc/{server.process._process.pid}/task/{server.process._process.pid}/children")  # type: ignore[union-attr]
    for pid in children.read_text().split():
        os.kill(int(pid), 9)
    with pytest.raises(SourceError) as refused:
        read(source, found)
    assert refused.value.retryable
    assert read(source, found) == ROWS
    commit(sink, [committable], place(), may_be_committed=True)
    assert len(list((tmp_path / "out").glob("job-*"))) == 1


def test_a_folder_that_may_not_be_written_is_named(server: Sshd) -> None:
    sink = SftpFileSink(options_of(SftpFileSink, {**login(server), "path": "/proc/out", "file_format_type": "json"}))
    with pytest.raises(SinkError, match=r"pipeline 1, sink SftpFile: sftp://.*/proc/out.* cannot be written"):
        sink.prepare(sink_place(place()))


def test_a_published_file_that_was_taken_away_is_not_missed(server: Sshd, tmp_path: Path) -> None:
    sink = SftpFileSink(options_of(SftpFileSink, {**login(server), "path": str(tmp_path), "file_format_type": "json"}))
    sink.prepare(sink_place(place()))
    committable = stage(sink, SCHEMA, [numbered(0, 1)], place())
    commit(sink, [committable], place())
    (published,) = tmp_path.glob("job-*")
    published.unlink()
    commit(sink, [committable], place(), may_be_committed=True)
    with pytest.raises(CommitError, match="is missing; it should have become"):
        commit(sink, [committable], place())
