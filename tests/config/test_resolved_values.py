"""A value that a variable gave is a value: it is not looked up in the environment, in a file or in a store again."""

from pathlib import Path

import pytest

from seatunnel_core.config.document import Block, from_code
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.option import MAP, STRING, Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, Unknown, Validated, validate
from seatunnel_core.config.variables import Variables
from seatunnel_storage_api.secret import Resolved, resolved, shown

DECLARED = (
    Option("password", STRING, doc="A secret.", secret=True),
    Option("headers", MAP, doc="Secrets.", secret=True),
    Option("path", STRING, doc="A path."),
)
HARD = ("${HOME}", "${NO_SUCH_VARIABLE}", "a${HOME}b", "file:///no/such", "secret://no/such", "$")


def read(tree: Block | str, problems: Problems, name: str = "j.conf", **variables: str) -> Validated:
    block = parse(tree, name, Variables(variables, {}), problems) if isinstance(tree, str) else tree
    return validate(block, DECLARED, BlockRules(what="the sink X", unknown=Unknown.LENIENT, free=("spark.",)), problems)


@pytest.mark.parametrize("value", HARD)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("j.conf", "password = ${PW}, headers { a = ${PW}, key = ${PW} }, spark.password = ${PW}"),
        ("j.conf", 'pw = "${PW}", password = ${pw}, headers { a = ${pw}, key = ""${pw} }, spark.password = ${pw}""'),
        ("j.json", '{"password": "${PW}", "headers": {"a": "${PW}", "key": "${PW}"}, "spark.password": "${PW}"}'),
        ("j.yaml", 'password: ${PW}\nheaders: {a: "${PW}", key: "${PW}"}\nspark.password: ${PW}'),
    ],
)
def test_the_value_of_a_variable_is_not_resolved_again(name: str, text: str, value: str) -> None:
    """A password ``${HOME}`` was the folder of the user afterwards, and one with another name ended the job."""
    problems = Problems()
    found = read(text, problems, name, PW=value)
    assert problems.errors == ()
    assert found.options["password"] == value
    assert found.options["headers"] == {"a": value, "key": value}
    assert found.free == {"spark.password": value}


@pytest.mark.parametrize("value", HARD[:3])
def test_code_looks_up_its_own_variables(value: str) -> None:
    problems, tree = Problems(), from_code({"password": value, "headers": {"a": value}, "spark.password": value})
    assert isinstance(tree, Block)
    found = read(tree, problems)
    assert problems.errors == ()
    assert (found.options["password"], found.options["headers"]) == (value, {"a": value})
    assert found.free == {"spark.password": value}


def test_a_reference_that_the_file_writes_is_resolved_with_the_variables_in_it(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("hush")
    for text in (
        'password = "file://${FOLDER}/pw"',
        'password = "file://"${FOLDER}"/pw"',
        'password = "${NOT_SET:file://FOLDER/pw}"'.replace("FOLDER", str(tmp_path)),
        'pw = "file://FOLDER/pw", password = ${pw}'.replace("FOLDER", str(tmp_path)),
    ):
        problems = Problems()
        found = read(text, problems, FOLDER=str(tmp_path))
        assert (problems.errors, found.options["password"]) == ((), "hush"), text


def test_a_storage_takes_the_value_of_a_variable_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "seatunnel.yaml").write_text(
        "seatunnel: {engine: {checkpoint: {storage: {type: hdfs, plugin-config: {storage.type: local,"
        ' namespace: /x/, fs.s3a.secret.key: "${KEY}"}}}}}'
    )
    engine = load_engine(tmp_path / "seatunnel.yaml", environment={"KEY": "${HOME}"})
    assert resolved(engine.storage.plugin_config)["fs.s3a.secret.key"] == "${HOME}"
    assert shown("fs.s3a.secret.key", engine.storage.plugin_config["fs.s3a.secret.key"]) == "***", "it is no reference"


def test_a_decrypted_value_is_not_resolved(tmp_path: Path) -> None:
    (tmp_path / "job.conf").write_text(
        "env { job.mode = BATCH, shade.identifier = base64 }\n"
        'source { FakeSource { } }\nsink { X { password = "JHtIT01FfQ==", token = ${TOKEN} } }'
    )
    raw = load_job(tmp_path / "job.conf", Variables({"TOKEN": "c2VjcmV0"}, {}))
    sink = {entry.key: entry.value.value for entry in raw.blocks[1].block}  # type: ignore[union-attr]
    assert sink == {"password": "${HOME}", "token": "secret"}
    assert isinstance(sink["password"], Resolved)
