"""The mistakes of ``test_mistakes`` with the plugins that are installed, through the command; and several at once."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.cli import init
from seatunnel_core.cli.main import main
from tests.planning.test_mistakes import GOOD, MISTAKES, messages

CITIES = Path(init.__file__).parent / "templates" / "jobs" / "cities.csv"
"""A file that is there."""

FIRST = [
    "unknown key in env",
    "misspelt key in env",
    "a key of seatunnel.yaml",
    "wrong type in env",
    "wrong value in env",
    "key of env at the top",
    "misspelt section",
    "missing section",
    "misspelt required key",
    "wrong value in a source",
    "dangling input",
    "doubled name",
    "unused source",
    "cycle",
    "namespace without /",
    "bad HOCON",
    "missing variable",
    "section as a text",
    "unknown shade",
]
"""Mistakes of which the real plugins say what those of the tests do."""


def command(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> tuple[int, str, list[str]]:
    """Exit code, output and complaints of ``seatunnel --check`` with the plugins that are installed."""
    real = text.replace("Keep {", "Filter { include_fields = [city],").replace("/in2", str(CITIES))
    (folder / "job.conf").write_text(real.replace("/in", str(CITIES)))
    (folder / "seatunnel.yaml").write_text("seatunnel: {engine: {checkpoint: {storage: {type: hdfs}}}}")
    code = main(["-c", str(folder / "job.conf"), "--engine-config", str(folder / "seatunnel.yaml"), "--check"])
    said = capsys.readouterr()
    return code, said.out, said.err.replace(f"{folder}/", "").splitlines()


def test_the_good_job_passes_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = command(tmp_path, capsys, GOOD)
    assert (code, err, "warning" in out) == (0, [], False)


@pytest.mark.parametrize("name", FIRST)
def test_the_command_says_it_and_ends_with_2(name: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, expected = MISTAKES[name]
    code, out, err = command(tmp_path, capsys, text)
    assert (code, out, len(err)) == (2, "", 1), err
    assert "Traceback" not in err[0]
    real = expected.replace("path' (text). The", "path' (text). A").replace(
        "json, parq", "json, binary, excel, orc, parq"
    )
    real = real.replace("parquet, found", "parquet, xml, found")
    assert err[0].split(": ", 1)[1] == real.split(": ", 1)[1]
    assert err[0].split(":")[:2] == expected.split(":")[:2]


def test_a_plugin_that_nobody_knows_hides_no_mistake_of_the_graph() -> None:
    text = GOOD.replace("Console { plugin_input = a }", "Consle { plugin_input = a }\n  Console { plugin_input = zz }")
    assert [line.split(": ", 1)[1][:40] for line in messages(text)] == [
        "there is no sink 'Consle'; did you mean ",
        "Console reads from 'zz', but no source o",
    ]
    text = text.replace("zz }", "y }") + (
        "transform {\n  Keep { plugin_input = [a, y], plugin_output = x }\n"
        "  Keep { plugin_input = x, plugin_output = y }\n}"
    )
    assert [line.split(": ", 1)[1][:30] for line in messages(text)] == [
        "there is no sink 'Consle'; did",
        "the job graph has a cycle: x -",
    ]


def test_common_options_of_a_plugin_that_nobody_knows_are_read() -> None:
    text = GOOD.replace("Console {", "Consle { parallelism = many, rows_that_only_it_knows = 1,")
    assert [line.split(": ", 1)[0] for line in messages(text)] == ["job.conf:6:3", "job.conf:6:26"]


def test_each_wrong_column_of_a_schema_is_named_where_it_stands() -> None:
    for columns in (
        "fields { id = bigint\n b = itn\n c = txt }",
        "columns = [ { name = id, type = bigint }\n { name = b, type = itn }\n { name = c, type = txt } ]",
    ):
        lines = messages(GOOD.replace("path = /in", f"path = /in, schema {{ {columns} }}"))
        assert [line.split(": option")[0] for line in lines] == [
            f"job.conf:{line}:2: the source LocalFile" for line in (4, 5)
        ]
        assert "column 'b': 'itn' is not a type; did you mean int?" in lines[0]
        assert "column 'c': 'txt' is not a type" in lines[1]


def test_what_is_wrong_with_the_common_options_does_not_hide_what_the_plugin_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("path = /in", 'path = /in, field_delimiter = "||", parallelism = many')
    _, _, err = command(tmp_path, capsys, text)
    assert len(err) == 2
    assert "'parallelism': expected a whole number" in err[0]
    assert "expected one character" in err[1] or "one character" in err[1]


def test_an_option_that_is_wrong_is_not_followed_by_what_comes_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("path = /in", "path = /in, encoding = [[x]]")
    _, _, err = command(tmp_path, capsys, text)
    assert len(err) == 1
