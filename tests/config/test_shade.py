"""Encrypted job files: what ``--encrypt`` prints runs, and ``--decrypt`` gives back what was there."""

import importlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.config.document import plain
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.shade import shading
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError, UsageError
from tests.foundation.test_doc_snippets import blocks, entry_points

JOB = """
env { job.mode = BATCH, shade.identifier = "base64", shade.options = [api_key, "http.header"], parallelism = 2 }
source {
  A { username = "seatunnel", password = "seatunnel_password", port = 56725, host = "a", plugin_output = x }
  A { token = [one, two], api_key = 007, auth = null, http { header = "h\\u00e9", other = plain }, plugin_output = y }
}
transform { T { password = "stays", plugin_input = x } }
sink { B { access_key = true, secret_key = "${table_name}", path = "007", plugin_input = y } }
"""


def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str, *arguments: str, name: str = "job.conf"
) -> tuple[int, str, str]:
    file = tmp_path / name
    file.write_text(job)
    code = main(["-c", str(file), *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def options(path: Path) -> list[tuple[str, str, Any]]:
    job = load_job(path)
    job.problems.raise_errors(ConfigError)
    return [(raw.kind.value, raw.identifier, plain(raw.block, textual=True)) for raw in job.blocks]


def test_encrypted_is_what_seatunnel_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The values of SeaTunnel's own documentation page."""
    code, out, _ = run(tmp_path, capsys, JOB, "--encrypt")
    assert code == 0
    document = json.loads(out)
    assert document["source"][0] == {
        "plugin_name": "A",
        "username": "c2VhdHVubmVs",
        "password": "c2VhdHVubmVsX3Bhc3N3b3Jk",
        "port": 56725,
        "host": "a",
        "plugin_output": "x",
    }
    assert document["source"][1]["http"] == {"header": "aMOp", "other": "plain"}
    assert document["source"][1]["auth"] is None
    assert document["transform"] == [{"plugin_name": "T", "password": "stays", "plugin_input": "x"}]
    assert document["sink"][0]["path"] == "007"


def test_what_was_encrypted_reads_as_what_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clear = tmp_path / "clear.conf"
    clear.write_text(JOB.replace('shade.identifier = "base64"', "shade.identifier = default"))
    _, out, _ = run(tmp_path, capsys, JOB, "--encrypt")
    encrypted = tmp_path / "encrypted.json"
    encrypted.write_text(out)
    assert options(encrypted) == options(clear)
    assert main(["-c", str(encrypted), "--decrypt"]) == 0
    decrypted = json.loads(capsys.readouterr().out)
    assert decrypted["source"][0]["password"] == "seatunnel_password"
    assert decrypted["source"][1]["api_key"] == "007"
    assert decrypted["source"][1]["token"] == ["one", "two"]


def test_nothing_that_was_read_shows_a_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(tmp_path, capsys, JOB, "--encrypt")
    encrypted = tmp_path / "encrypted.json"
    encrypted.write_text(out.replace('"parallelism"', '"spark.password": "seatunnel_password", "parallelism"'))
    variables = Variables({"PW": "seatunnel_password"})
    job = load_job(encrypted, variables)
    assert "seatunnel_password" not in f"{job!r} {job.blocks!r} {job.env!r} {variables!r}"


VARIABLES = """
env { job.mode = BATCH, shade.identifier = ${SHADE}, shade.options = [api_key] }
host = h
source {
  A { password = ${PW}, token = "${TOKEN:none}", auth = ${AUTH:some}, api_key = "key-"${PW}, host = ${host}
    username = [reader, ${PW}], port = ${PORT}, plugin_output = x }
}
sink { B { secret_key = "${table_name}", plugin_input = x } }
"""


@pytest.mark.parametrize("name", ["job.conf", "job.yaml"])
def test_variables_stay_as_they_are_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value of a variable, from the environment of whoever typed it, was written into the file: a secret that was
    kept out of it on purpose. Nobody was told."""
    monkeypatch.setenv("PW", "hunter2")
    job = VARIABLES
    if name == "job.yaml":
        job = (
            "env: {job.mode: BATCH, shade.identifier: '${SHADE}', shade.options: [api_key]}\n"
            "source:\n  - {plugin_name: A, password: '${PW}', token: '${TOKEN:none}', auth: '${AUTH:some}', api_key: "
            "'key-${PW}', host: h, username: [reader, '${PW}'], port: '${PORT}', plugin_output: x}\n"
            "sink:\n  - {plugin_name: B, secret_key: '${table_name}', plugin_input: x}\n"
        )
    code, out, err = run(tmp_path, capsys, job, "--encrypt", "-i", "SHADE=base64", name=name)
    assert code == 0, err
    document = json.loads(out)
    assert document["env"]["shade.identifier" if name == "job.yaml" else "shade"] in (
        "${SHADE}",
        {"identifier": "${SHADE}", "options": ["api_key"]},
    )
    assert document["source"] == [
        {
            "plugin_name": "A",
            "password": "${PW}",
            "token": "${TOKEN:none}",
            "auth": "${AUTH:some}",
            "api_key": "key-${PW}",
            "host": "h",
            "username": ["cmVhZGVy", "${PW}"],
            "port": "${PORT}",
            "plugin_output": "x",
        }
    ]
    assert document["sink"][0]["secret_key"] == "JHt0YWJsZV9uYW1lfQ==", "a sink fills that in, when it writes"
    assert "hunter2" not in out + err
    assert "'password' remains unchanged: it contains a variable; the value of the variable must be encrypted" in err
    assert err.count("remains unchanged") == 5


def test_what_is_printed_takes_its_variables_when_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(tmp_path, capsys, VARIABLES, "--encrypt", "-i", "SHADE=base64")
    encrypted = tmp_path / "encrypted.json"
    encrypted.write_text(out)
    given = {"SHADE": "base64", "PW": "aHVudGVyMg==", "PORT": "1", "AUTH": "c29tZQ==", "TOKEN": "bm9uZQ=="}
    job = load_job(encrypted, Variables(given | {"PW": "hunter2"}))
    assert [problem.message.split(" (")[0] for problem in job.problems.errors][:1] == [
        "'password' is not encrypted with the shade 'base64'"
    ]
    assert "and the values of its variables" in str(job.problems.errors[0])
    read = plain(load_job(encrypted, Variables(given)).blocks[0].block)
    assert (read["password"], read["auth"], read["port"]) == ("hunter2", "some", "1")
    code = main(["-c", str(encrypted), "--decrypt", "-i", "SHADE=base64"])
    assert (code, json.loads(capsys.readouterr().out)["source"][0]["username"]) == (0, ["reader", "${PW}"])


def test_what_is_encrypted_already_is_not_encrypted_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice encrypted, a password was wrong for the system that it was for; nobody was told before that refused it."""
    _, out, err = run(tmp_path, capsys, JOB, "--encrypt")
    assert err == ""
    once = out.replace('"password": "c2VhdHVubmVsX3Bhc3N3b3Jk"', '"password": "a new one"')
    code, twice, err = run(tmp_path, capsys, once, "--encrypt", name="once.json")
    assert code == 0
    assert json.loads(twice) == json.loads(out.replace("c2VhdHVubmVsX3Bhc3N3b3Jk", "YSBuZXcgb25l"))
    assert "once.json:" in err
    assert "'username' remains unchanged: it is already encrypted with the shade 'base64'" in err
    assert "'password'" not in err


def test_a_word_that_base64_reads_as_rubbish_is_encrypted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("test", "user", "root", "password", "abcd", "aaaaaaaa"):
        code, out, err = run(tmp_path, capsys, JOB.replace("seatunnel_password", word), "--encrypt")
        assert (code, err) == (0, "")
        assert json.loads(out)["source"][0]["password"] != word


def test_what_json_cannot_say_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(tmp_path, capsys, JOB.replace('host = "a"', "host = ${?HOST}"), "--encrypt")
    assert (code, out) == (2, "")
    assert "${?HOST} cannot be printed as JSON. Use ${HOST:default}" in err


@pytest.mark.parametrize("flag", ["--check", "--decrypt"])
def test_a_value_in_the_clear_is_named_and_not_shown(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(tmp_path, capsys, JOB, flag)
    assert (code, out) == (2, "")
    assert "job.conf:4:42: 'password' is not encrypted with the shade 'base64' (the value is not shown). Encrypt" in err
    assert "seatunnel_password" not in err


def test_a_file_that_names_no_shade_is_answered_with_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(tmp_path, capsys, JOB.replace("shade.identifier", "tag_filter"), "--encrypt")
    assert (code, out) == (2, "")
    assert "set shade.identifier = base64 in env" in err


@pytest.fixture
def fernet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The shade of the page, as pip installs it; a cipher that a child breaks stands in for ``cryptography``."""
    toy = types.ModuleType("cryptography.fernet")

    class Fernet:
        def __init__(self, key: bytes) -> None:
            self.key = key

        def encrypt(self, text: bytes) -> bytes:
            return (self.key + text)[::-1].hex().encode()

        def decrypt(self, text: bytes) -> bytes:
            clear = bytes.fromhex(text.decode())[::-1]
            if not clear.startswith(self.key):
                raise toy.InvalidToken
            return clear[len(self.key) :]

    toy.Fernet, toy.InvalidToken = Fernet, type("InvalidToken", (Exception,), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cryptography", types.ModuleType("cryptography"))
    monkeypatch.setitem(sys.modules, "cryptography.fernet", toy)
    site = tmp_path / "site"
    for folder in ("my_package", "my_package-1.dist-info"):
        (site / folder).mkdir(parents=True)
    (site / "my_package" / "__init__.py").touch()
    (site / "my_package" / "shade.py").write_text(blocks("guides/secrets.md", "python")[0])
    (site / "my_package-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (site / "my_package-1.dist-info" / "entry_points.txt").write_text(
        entry_points(blocks("guides/secrets.md", "toml")[0])
        + "\nbroken = my_package.nothing\nodd = my_package.shade:Fernet\n"
    )
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield tmp_path / "key"
    for name in [name for name in sys.modules if name.startswith("my_package")]:
        del sys.modules[name]


def test_a_shade_of_ones_own_is_a_package(fernet: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fernet.write_text("k3y\n")
    env = f'shade.identifier = fernet, shade.properties {{ key_file = "{fernet}" }}'
    job = JOB.replace('shade.identifier = "base64", shade.options = [api_key, "http.header"]', env)
    _, out, _ = run(tmp_path, capsys, job, "--encrypt")
    document = json.loads(out)
    assert document["source"][0]["password"] == b"drowssap_lennutaesy3k".hex()
    assert document["source"][1]["api_key"] == b"700y3k".hex(), "one of the options that the shade itself names"
    encrypted = tmp_path / "encrypted.json"
    encrypted.write_text(out)
    assert options(encrypted)[0][2]["password"] == "seatunnel_password"
    fernet.write_text("another")
    with pytest.raises(ConfigError, match="'password' is not encrypted with the shade 'fernet'"):
        options(encrypted)


@pytest.mark.parametrize(
    ("identifier", "said"),
    [
        ("fernet", "the shade 'fernet' rejects shade.properties: key_file is missing"),
        ("broken", "the shade 'broken' cannot be loaded: ModuleNotFoundError"),
        ("odd", "the shade 'odd' is not a subclass of Shade with this identifier: my_package.shade:Fernet"),
        ("none", "there is no shade 'none'; available: base64, broken, default, fernet, odd."),
    ],
)
def test_a_shade_that_cannot_be_had_is_an_error(identifier: str, said: str, fernet: Any) -> None:
    with pytest.raises(UsageError, match=said):
        shading(identifier, (), {})


def test_the_job_of_the_page_can_be_encrypted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(tmp_path, capsys, blocks("guides/secrets.md", "hocon")[0], "--encrypt")
    assert code == 0
    assert json.loads(out)["sink"][0]["password"] == "aHVudGVyMg=="


def test_json_is_printed_whatever_letters_the_terminal_has(tmp_path: Path) -> None:
    """Python's escapes for what an encoding lacks are no JSON."""
    job = tmp_path / "job.conf"
    job.write_text(JOB.replace('host = "a"', 'host = "h\u00f6st"'), encoding="utf-8")
    command = [sys.executable, "-m", "seatunnel_core.cli", "-c", str(job), "--encrypt"]
    done = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=True)
    assert json.loads(done.stdout)["source"][0]["host"] == "h\u00f6st"
