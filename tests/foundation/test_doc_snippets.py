"""What the pages of the documentation tell people to write: each snippet is read, and planned where it is a job.

Many are run besides, by the test of their page; these here see to it that no page and no snippet is without any.
"""

import ast
import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from seatunnel_storage_mapstore import map_config

from seatunnel_core.cli.arguments import parse
from seatunnel_core.cli.checkpoints.arguments import parse_checkpoints
from seatunnel_core.cli.checkpoints.subcommand import CheckpointsCommand
from seatunnel_core.config import file
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.hazelcast import load_hazelcast
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.registry import lookup
from seatunnel_core.server.command import node_parser
from seatunnel_core.server.rest.application import USER_ROUTES
from seatunnel_storage_api.discovery import load_factory
from tests.foundation.snippets import ROOT, Snippet, given, mentioned, plan_only, snippets, typed

EXAMPLES = ROOT / "examples"
RESULTS = {"text", "promql"}
"""The languages of what is shown and not typed: what a command prints, formulas, queries of another program."""

CHECKED = {"console", "hocon", "json", "python", "sh", "shell", "sql", "toml", "yaml"}

READ_ONLY = {
    "password = hunter2": "docs/guides/secrets.md shows a job that is to be encrypted first; test_shade.py encrypts it",
    "LogLines {": "docs/start/write-a-connector.md has them made by the reader; test_write_a_connector.py runs it",
    "type: sqlite": "docs/start/write-a-storage.md has its storage made by the reader; test_write_a_storage.py runs it",
    '"shop-copy"': "docs/guides/change-data.md takes a port from the environment; tests/cdc/test_guide.py runs it",
    "yaml.schemas": "docs/guides/editors.md shows a setting of an editor",
    "EventTime = changed_at": "docs/guides/change-data.md shows transforms behind a source that needs a server",
}
"""What is parsed and not planned, by what stands in it, and why."""

READERS_OWN = {
    "my_package/__init__.py": "",
    "my_package/cleaning.py": "def trim(batch):\n    return batch\n\ndef enrich(frame):\n    return frame\n",
    "my_package/sources.py": "from pyspark.sql.datasource import DataSource\n\nclass Counting(DataSource):\n    pass\n",
}
"""What jobs of the pages name, and no page shows."""

PEOPLE = "source { FakeSource { schema { fields { id = bigint, name = string } } } }"
PART_OF = {
    "schema": "source { FakeSource { %s } }\nsink { Console { } }",
    "env": f"%s\n{PEOPLE}\nsink {{ Console {{ }} }}",
    "transform": f"{PEOPLE}\n%s\nsink {{ Console {{ }} }}",
    "sink": f"{PEOPLE}\n%s",
    "source": "%s\nsink { Console { } }",
}
"""What a part of a job needs around it to be one, by what it begins with."""

SHELLS_OWN = {".", "cat", "cd", "export", "kill", "mkdir", "mv", "printf", "sed", "sh", "sleep", "wait"}
SHELLS_OWN |= {"do", "done", "until"}


def blocks(page: str, language: str) -> list[str]:
    return [each.text for each in snippets(language) if each.page == f"docs/{page}"]


def of(*languages: str) -> pytest.MarkDecorator:
    """A test for each snippet in these languages."""
    return pytest.mark.parametrize("snippet", snippets(*languages), ids=lambda snippet: snippet.place)


def reason(snippet: Snippet) -> str:
    """Why it is only read; empty if it is planned."""
    return next((why for within, why in READ_ONLY.items() if within in snippet.text), "")


def test_every_snippet_is_in_a_language_that_is_checked_here() -> None:
    """A block without a language would be passed over."""
    assert [each.place for each in snippets() if each.language not in RESULTS | CHECKED] == []


def test_no_reason_is_left_over() -> None:
    assert {reason(each) for each in snippets() if reason(each)} == set(READ_ONLY.values())


# -- commands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [pytest.param(words, id=place) for place, words in typed()])
def test_what_is_typed_is_understood(words: list[str]) -> None:
    program, *arguments = given(words)
    name = program.rpartition("/")[2].removesuffix(".sh").rstrip("3")
    if name == "seatunnel-cluster":
        node_parser().parse_args(arguments)
    elif name == "seatunnel":
        command = parse(arguments, version="1")
        if isinstance(command, CheckpointsCommand):
            parse_checkpoints(command.argv)
    elif name not in SHELLS_OWN and "=" not in program:
        understood(name, words[1:])


@pytest.mark.parametrize("words", [pytest.param(words, id=place) for place, words in mentioned().items()])
def test_what_is_mentioned_is_there(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Such a command may leave out what it needs, but its options and subcommands exist."""
    name, *arguments = Path(words[0]).name, *words[1:]
    if name != "seatunnel":
        understood(name, arguments)
        return
    said = usage(*[each for each in arguments[:2] if each.isalpha()], capsys=capsys)
    assert [each for each in arguments if each.startswith("-") and not re.search(rf"(?<![\w-]){each}\b", said)] == []


def usage(command: str = "", verb: str = "", *, capsys: pytest.CaptureFixture[str]) -> str:
    """What ``--help`` says about a subcommand that exists."""
    if command == "checkpoints":
        with pytest.raises(SystemExit):
            parse_checkpoints([*([verb] if verb else []), "--help"])
    else:
        with pytest.raises(SystemExit):
            parse([*([command] if command else []), "--help"], version="1")
    return capsys.readouterr().out


def understood(program: str, arguments: list[str]) -> None:
    if program == "make":
        text = (ROOT / "Makefile").read_text()
        known = set(re.findall(r"^([a-z-]+):|^([A-Z]+) \?=", text, re.MULTILINE))
        named = {("", each.partition("=")[0]) if "=" in each else (each, "") for each in arguments}
        assert named <= known
    elif program == "pip":
        installed(arguments)
    elif program == "spark-class":
        assert (Path(sys.executable).parent / program).is_file(), "the wheel of PySpark brings it"
    elif program == "python" and arguments[0].endswith(".py"):
        assert (ROOT / arguments[0]).is_file() or arguments[0] in {each.file for each in snippets("python")}
    elif program == "python" and arguments[:1] == ["-m"]:
        assert importlib.util.find_spec(arguments[1]) is not None
        folder = ROOT.joinpath(*arguments[1].split(".")[:3])
        flags = [f'"{each}"' for each in arguments if each.startswith("--") and arguments[1].startswith("tests.")]
        texts = [path.read_text() for path in (*folder.rglob("*.py"), Path(f"{folder}.py")) if path.is_file()]
        assert [flag for flag in flags if not any(flag in text for text in texts)] == []
    elif program == "curl":
        asked = urlsplit(arguments[-1]).path
        assert any(re.fullmatch(re.sub(r"{\w+}", "[^/]+", each.path), asked) for each in USER_ROUTES), asked
    else:
        pytest.fail(f"nothing here says what the command {program!r} is")


def installed(arguments: list[str]) -> None:
    """Projects of the clone that pip is to install exist, with the extras that are named. All that they require of each
    other are named, too: pip would look for the others on a registry, where such a name may be a stranger's."""
    given: set[str] = set()
    required: set[str] = set()
    for word in arguments:
        named = re.fullmatch(r"(\$SEATUNNEL|\.)?((?:/plugins/[\w*-]+)?)(?:\[([\w,-]+)\])?", word)
        if named is None or (named[1] == "." and named[3] == "test"):  # the reader's own project
            assert not word.startswith("seatunnel"), f"{word} is on no registry of ours"
            continue
        for folder in ROOT.glob(named[2].lstrip("/") or "pyproject.toml"):
            file = folder if folder.is_file() else folder / "pyproject.toml"
            project = tomllib.loads(file.read_text("utf-8"))["project"]
            extras = set((named[3] or "").split(",")) - {""}
            assert extras <= project.get("optional-dependencies", {}).keys()
            given.add(project["name"])
            required |= set(project["dependencies"]).union(*(project["optional-dependencies"][each] for each in extras))
    assert {each for each in required if each.startswith("seatunnel")} <= given


# -- jobs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def readers_own(snippet: Snippet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the modules that the jobs of this page name, from which Python imports."""
    shown = [each for each in snippets("python") if each.page == snippet.page and re.fullmatch(r"\w+\.py", each.file)]
    for name, text in (READERS_OWN | {each.file: each.text for each in shown}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name.split("/")[0].removesuffix(".py"), raising=False)  # another test's
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{tmp_path}/"):
            del sys.modules[name]


@of("hocon", "sql")
def test_jobs_and_their_parts_can_be_planned(snippet: Snippet, readers_own: Path) -> None:
    """With the schemas behind each transform, and without a look at the files that they name."""
    name = "page.sql" if snippet.language == "sql" else "page.conf"
    tree = file.parse(snippet.text, name, Variables({"password": "x", "PASSWORD": "x"}, {}), Problems())
    keys = [entry.key for entry in tree]
    if "source" in keys and "sink" in keys:
        plan(snippet, snippet.text, name, readers_own)
    else:
        plan(snippet, PART_OF[keys[0]] % snippet.text, "page.conf", readers_own)


@of("json")
def test_json_is_json_and_a_job_if_it_says_so(snippet: Snippet, readers_own: Path) -> None:
    plan(snippet, snippet.text, "page.json", readers_own)


def plan(snippet: Snippet, text: str, name: str, folder: Path) -> None:
    if not reason(snippet):
        plan_only(text, name, load_engine(environment={"HOME": str(folder)}, folder=folder))


# -- configurations of the engine, code and projects ---------------------------------------------------------------


@of("yaml")
def test_configurations_are_understood(snippet: Snippet, readers_own: Path) -> None:
    """A part of one is put where the whole one of its page has such keys."""
    document = yaml.safe_load(snippet.text)
    if str(document.get("type", "")).startswith("seatunnel_dagster."):
        return  # Dagster reads it: tests/plugins/orchestrators
    if "source" in document:
        plan(snippet, snippet.text, "page.yaml", readers_own)
        return
    if "map" in document:
        assert map_config.parse(document)
        return
    if "hazelcast" in document:
        (readers_own / "hazelcast.yaml").write_text(snippet.text)
        problems = Problems()
        assert load_hazelcast(readers_own / "hazelcast.yaml", problems) is not None
        assert not problems.errors
        return
    if "seatunnel" not in document:
        whole = next(each for each in snippets("yaml") if each.page == snippet.page and "seatunnel:" in each.text)
        document, keys = yaml.safe_load(whole.text), document
        document["seatunnel"]["engine"]["checkpoint"]["storage"]["plugin-config"] |= keys
    (readers_own / "seatunnel.yaml").write_text(yaml.safe_dump(document))
    environment = dict.fromkeys(re.findall(r"\$\{(\w+)\}", str(document)), "x")
    of_node = "http" in document["seatunnel"]["engine"]
    engine = load_engine(readers_own / "seatunnel.yaml", environment=environment, of_node=of_node)
    assert list(engine.warnings) == []
    if not reason(snippet):
        assert load_factory(engine.storage.type).idle_keys(engine.storage.plugin_config) == {}


@of("python")
def test_code_is_python_and_what_it_imports_of_ours_is_there(snippet: Snippet) -> None:
    for node in ast.walk(ast.parse(snippet.text)):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name.partition(".")[0] not in ("seatunnel_core", "seatunnel_storage_api"):
                continue
            module = importlib.import_module(name)
            wanted = [each.name for each in node.names] if isinstance(node, ast.ImportFrom) else []
            assert [each for each in wanted if each != "*" and not hasattr(module, each)] == []


@of("toml")
def test_entry_points_are_of_groups_that_are_read(snippet: Snippet) -> None:
    groups = tomllib.loads(snippet.text)["project"].get("entry-points", {})
    others = {"seatunnel.checkpoint_storage", "seatunnel.config_shade", "seatunnel.sql_function"}
    others |= {"seatunnel.secret_store"}
    assert groups.keys() <= {*lookup.GROUPS.values(), *others}


# -- what the page on connectors says besides ----------------------------------------------------------------------


def run(folder: Path, *arguments: str) -> str:
    """What Python prints, with the packages in ``folder`` importable."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def entry_points(toml: str) -> str:
    """An ``entry_points.txt``, as pip writes it from this part of a ``pyproject.toml``."""
    groups = tomllib.loads(toml)["project"]["entry-points"]
    return "\n".join(
        f"[{group}]\n{name} = {value}" for group, points in groups.items() for name, value in points.items()
    )


def test_options_are_declared_as_the_page_says() -> None:
    (declared,) = (block for block in blocks("reference/connector-interface.md", "python") if block.startswith("COUNT"))
    program = f"from seatunnel_core.config.option import *\n{declared}\nprint(COUNT.key, COUNT.required)"
    assert run(ROOT, "-c", program) == "count True\n"


def test_the_entry_point_of_the_page_is_the_one_of_the_example() -> None:
    example = (EXAMPLES / "minimal_source" / "pyproject.toml").read_text(encoding="utf-8")
    assert entry_points(blocks("reference/connector-interface.md", "toml")[0]) == entry_points(example)
