"""Writes ``docs/evidence/mistakes.md``, by making each mistake: ``python -m tests.connectors.mistakes.page``."""

import contextlib
import gzip
import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
from attrs import frozen

from seatunnel_core.cli.main import main
from seatunnel_core.connector_api.testing import options_of, read
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.submitted_job import SubmittedJob

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "mistakes.md"

_HEAD = """# Mistakes and their messages

The messages about wrong job files and bad data. [Databases](mistakes-databases.md), [file servers](mistakes-files.md),
[Kafka](mistakes-kafka.md), [services](mistakes-services.md) and [checkpoint storages](mistakes-storages.md) have their
own pages. For running jobs see [failures](../guides/failures.md). `python -m tests.connectors.mistakes.page` makes each
mistake and generates this page.

## In a job file

`seatunnel --check -c job.conf` and the job itself report these before any row moves. Each row changes one part of:

```hocon
"""

_GOOD = """env { job.mode = BATCH }
source { LocalFile { path = in/people.csv, file_format_type = csv, plugin_output = people,
  schema { fields { id = bigint, name = string } } } }
sink { LocalFile { plugin_input = people, path = out, file_format_type = parquet } }
"""

_JOBS = {
    "a misspelt option of `env`": ("job.mode", "job.mod"),
    "a wrong value": ("file_format_type = csv", "file_format_type = cvs"),
    "a missing option": ("path = out, ", ""),
    "a file that does not exist": ("in/people.csv", "in/poeple.csv"),
    "an unknown connector": ("source { LocalFile", "source { LocalFiel"),
    "a connector that is planned": ("sink { LocalFile", "sink { Oracle"),
    "an input without a source": (
        "sink {",
        "sink { Console { plugin_input = people }\n ",
        "plugin_input = people, path",
        "plugin_input = peple, path",
    ),
    "an unknown type": ("id = bigint", "id = bigit"),
    "a column that does not exist": ("path = out", "path = out, partition_by = [nam]"),
    "a variable that is not set": ("path = out", "path = ${target}"),
    "one inside an address, a header or a secret": ("path = out", 'path = "file:///data/${target}/out"'),
    "a reference to a secret where none belongs": ("path = out", 'path = "secret://vault/kv/target#path"'),
    "a brace that is missing": ("{ job.mode = BATCH }", "{ job.mode = BATCH "),
    "a target below a file": ("path = out", "path = in/people.csv/out"),
    "a target that would be emptied": ("path = out", "path = in, data_save_mode = DROP_DATA"),
}


_SINK = "LocalFile { plugin_input = people, path = out, file_format_type = parquet }"
_SECRET = 'Http { plugin_input = people, url = "https://host/rows", headers { Authorization = "Bearer ${TOKEN}" } }'

_SUBMITTED: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "a path that begins with no slash": ((), {}),
    "a secret that comes with the job, by `-i TOKEN=…` or by REST": ((_SINK, _SECRET), {"TOKEN": "hunter2"}),
    "a secret that the nodes do not have": ((_SINK, _SECRET), {}),
}
"""By what is wrong: changes of the good job, and the variables that come with it."""


@frozen
class Bad:
    """A file that cannot be read as its options say."""

    what: str
    name: str
    content: bytes
    options: Mapping[str, Any]


def _text(what: str, text: str, **options: Any) -> Bad:
    format = options.pop("file_format_type", "csv")
    return Bad(what, f"people.{format}", text.encode(), {"file_format_type": format, **options})


def _packed(write: Callable[[Any, io.BytesIO], None]) -> bytes:
    table = pa.table({"id": [1, 2], "name": ["Joy", "Kin"]})
    stream = io.BytesIO()
    write(table, stream)
    return stream.getvalue()


def _archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("people.csv", "1,Joy\n2,Kin,3\n")
    return stream.getvalue()


_PARQUET = _packed(pa.parquet.write_table)
_ORC = _packed(pa.orc.write_table)
_XML = "<RECORDS><RECORD><id>1</id></RECORD><RECORD><id>x</id></RECORD></RECORDS>"
_FILES = (
    _text("a text where a number belongs", "1,Joy\nx,Kin\n"),
    _text("a number that is too large", "1,Joy\n99999999999999999999,Kin\n"),
    _text("too many columns, with row_error_handle_way = FAIL", "1,Joy\n2,Kin,3\n", row_error_handle_way="FAIL"),
    _text("a quote that is not closed", '1,Joy\n2,"Kin\n'),
    Bad("bytes that are not UTF-8", "people.csv", b"1,Joy\n2,K\xefn\n", {"file_format_type": "csv"}),
    _text("a line that is not JSON", '{"id": 1}\n{"id": 2\n', file_format_type="json"),
    _text("a value of another type in JSON", '{"id": 1}\n{"id": [2]}\n', file_format_type="json"),
    _text("XML with a wrong number", _XML, file_format_type="xml", xml_row_tag="RECORD", xml_use_attr_format=False),
    Bad("a Parquet file that was cut off", "people.parquet", _PARQUET[:-9], {"file_format_type": "parquet"}),
    Bad("an ORC file that was cut off", "people.orc", _ORC[:-9], {"file_format_type": "orc"}),
    Bad("no sheet at all", "people.xlsx", b"id,name\n1,Joy\n", {"file_format_type": "excel"}),
    Bad(
        "a gzip that was cut off",
        "people.csv.gz",
        gzip.compress(b"1,Joy\n" * 999, mtime=0)[:-12],
        {"file_format_type": "csv", "compress_codec": "gzip"},
    ),
    Bad(
        "a bad row in an archive",
        "people.zip",
        _archive(),
        {"file_format_type": "csv", "archive_compress_codec": "zip", "row_error_handle_way": "FAIL"},
    ),
)


def page() -> str:
    """The whole page."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            jobs = [f"| {what} | {_told(folder, changes)} |" for what, changes in _JOBS.items()]
            submitted = [f"| {what} | {_refused(*mistake)} |" for what, mistake in _SUBMITTED.items()]
            files = [f"| {bad.what} | {_read(folder, bad)} |" for bad in _FILES]
        finally:
            os.chdir(before)
    below = """```

| mistake | message |
|---|---|
"""
    cluster = """

## In a job for a cluster

`seatunnel -m cluster -c job.conf` and REST report these, and the cluster does not store the job.

| mistake | message |
|---|---|
"""
    data = """

## In a data file

The first bad row fails the pipeline with this message after `pipeline N, source 'NAME'`. With
`row_error_handle_way = SKIP` bad rows are counted and skipped, but damaged files still fail it. The columns are `id`
(bigint) and `name` (string).

| mistake | message |
|---|---|
"""
    return _HEAD + _GOOD + below + "\n".join(jobs) + cluster + "\n".join(submitted) + data + "\n".join(files) + "\n"


def _told(folder: str, changes: tuple[str, ...]) -> str:
    text = _GOOD
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    os.makedirs("in", exist_ok=True)
    Path("in/people.csv").write_text("1,Joy\n")
    Path("job.conf").write_text(text)
    Path("seatunnel.yaml").write_text("seatunnel: {engine: {checkpoint: {storage: {type: hdfs}}}}")
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(["-c", "job.conf", "--engine-config", "seatunnel.yaml", "--check"])
    assert code == 2, said.getvalue()
    return _cell(folder, said.getvalue())


def _refused(changes: tuple[str, ...], variables: Mapping[str, str]) -> str:
    text = _GOOD
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace("in/people.csv", "/data/people.csv").replace(old, new, 1)
    try:
        SubmittedJob(text, "hocon", tuple(variables.items())).accepted().problems.raise_errors()
    except SeaTunnelError as error:
        return _cell("/nowhere", str(error))
    raise AssertionError(f"accepted: {text}")


def _read(folder: str, bad: Bad) -> str:
    Path(bad.name).write_bytes(bad.content)
    schema = {"schema": {"fields": {"id": "bigint", "name": "string"}}}
    try:
        read(LocalFileSource(options_of(LocalFileSource, {"path": bad.name, **schema, **bad.options})))
    except SeaTunnelError as error:
        return _cell(folder, str(error))
    raise AssertionError(f"{bad.what} was read")


def _cell(folder: str, message: str) -> str:
    shown = message.replace(f"{os.path.realpath(folder)}/", "").replace(f"{folder}/", "").strip()
    return "<br>".join(f"`{line.replace('|', chr(92) + '|')}`" for line in shown.splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
