"""What people get wrong in a job, one mistake at a time: each is one message that says where, what, what to write."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import Kind, RawJob, load_job, read_job
from seatunnel_core.config.option import Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.node import COMMON
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from tests.planning.plugins_for_plans import Console, FileSink, Keep, LocalFile, Plugins, Stream

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))

SOURCE = "LocalFile { path = /in, file_format_type = csv, plugin_output = a }"
GOOD = f"env {{ parallelism = 1 }}\nsource {{\n  {SOURCE}\n}}\nsink {{\n  Console {{ plugin_input = a }}\n}}\n"
TWO = "LocalFile { path = /in2, file_format_type = csv, plugin_output = b }"


def raw(text: str, *, strict: bool = False) -> RawJob:
    problems = Problems(strict=strict)
    return read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)


def messages(text: str, *, strict: bool = False) -> list[str]:
    """The lines of the error, or else the warnings."""
    try:
        return [str(warning) for warning in plan_job(raw(text, strict=strict), Plugins(), ENGINE).warnings]
    except SeaTunnelError as error:
        return str(error).splitlines()


def test_a_good_job_has_no_message() -> None:
    assert messages(GOOD, strict=True) == []


MISTAKES = {
    "unknown key in env": (
        GOOD.replace("parallelism = 1", "colour = red"),
        "job.conf:1:7: env has no option 'colour'",
    ),
    "misspelt key in env": (
        GOOD.replace("parallelism", "paralelism"),
        "job.conf:1:7: env has no option 'paralelism'. Did you mean 'parallelism'?",
    ),
    "a key of seatunnel.yaml": (
        GOOD.replace("parallelism = 1", "checkpoint.max-concurrent = 1"),
        "job.conf:1:18: env has no option 'checkpoint.max-concurrent'. "
        "It belongs in seatunnel.yaml, under seatunnel.engine",
    ),
    "wrong type in env": (
        GOOD.replace("parallelism = 1", "parallelism = many"),
        "job.conf:1:21: env: 'parallelism': expected a whole number, found 'many'",
    ),
    "wrong value in env": (
        GOOD.replace("parallelism = 1", "job.mode = NIGHTLY"),
        "job.conf:1:18: env: 'job.mode': expected one of BATCH, STREAMING, found 'NIGHTLY'",
    ),
    "key of env at the top": (
        "parallelism = 2\n" + GOOD,
        "job.conf:1:1: a job file has no section 'parallelism'. It belongs in env",
    ),
    "misspelt section": (
        GOOD.replace("sink {", "sinks {"),
        "job.conf:5:1: a job file has no section 'sinks'. Did you mean 'sink'?",
    ),
    "missing section": (
        "source {\n " + SOURCE + "\n}",
        "job.conf: the job has no sink. Add sink { … }",
    ),
    "missing required key": (
        GOOD.replace("path = /in, ", ""),
        "job.conf:3:3: the source LocalFile needs the option 'path' (text). The file, or a folder.",
    ),
    "misspelt required key": (
        GOOD.replace("path =", "pth ="),
        "job.conf:3:15: the source LocalFile needs the option 'path' (text). Did you misspell it as 'pth'?",
    ),
    "wrong value in a source": (
        GOOD.replace("csv", "xlsx"),
        "job.conf:3:46: the source LocalFile: 'file_format_type': "
        "expected one of csv, text, json, parquet, found 'xlsx'",
    ),
    "unknown key in a source": (
        GOOD.replace("path = /in", "path = /in, delimeter = x"),
        "job.conf:3:27: the source LocalFile has no option 'delimeter'. Valid options: delay, file_format_type, name, "
        "parallelism, password, path, plugin_output, row_error_handle_way, schema, secret.size",
    ),
    "misspelt key in a source": (
        GOOD.replace("path = /in", "path = /in, shema = {}"),
        "job.conf:3:27: the source LocalFile has no option 'shema'. Did you mean 'schema'?",
    ),
    "key of env in a source": (
        GOOD.replace("path = /in", "path = /in, job.mode = BATCH"),
        "job.conf:3:31: the source LocalFile has no option 'job.mode'. It belongs in env",
    ),
    "older name": (
        GOOD.replace("plugin_input", "source_table_name"),
        "job.conf:6:13: 'source_table_name' is an older name. Use 'plugin_input'",
    ),
    "older and newer name": (
        GOOD.replace("plugin_input = a", "plugin_input = a, source_table_name = a"),
        "job.conf:6:31: the sink Console has the option 'plugin_input' twice. It is first set at job.conf:6:13",
    ),
    "unknown connector": (
        GOOD.replace("Console", "Consle"),
        "job.conf:6:3: there is no sink 'Consle'; did you mean LocalFile?",
    ),
    "dangling input": (
        GOOD.replace(SOURCE, f"{SOURCE}\n  {TWO}").replace("= a }\n}\n", "= [b, aa] }\n}\n"),
        "job.conf:7:3: Console reads from 'aa', but no source or transform has this plugin_output. Existing outputs: "
        "a, b",
    ),
    "doubled name": (
        GOOD.replace(SOURCE, f"{SOURCE}\n  {SOURCE}"),
        "job.conf:4:3: two nodes have the same output name 'a'. It is also the output of LocalFile at job.conf:3:3: "
        "set a different plugin_output for each node",
    ),
    "unused source": (
        GOOD.replace(SOURCE, f"{SOURCE}\n  {TWO}"),
        "job.conf:4:3: no transform or sink reads from 'b'. Use it in a plugin_input, or remove this source",
    ),
    "cycle": (
        GOOD + "transform {\n  Keep { plugin_input = [a, y], plugin_output = x }\n"
        "  Keep { plugin_input = x, plugin_output = y }\n}",
        "job.conf:9:3: the job graph has a cycle: x -> y -> x. Correct one plugin_input",
    ),
    "wrong input name in a small job": (
        GOOD.replace("plugin_input = a", "plugin_input = b"),
        "job.conf:6:3: Console should read from 'b', but no node has this plugin_output: it reads from the previous "
        "node instead. Correct plugin_input",
    ),
    "namespace without /": (
        GOOD.replace("parallelism = 1", "checkpoint.storage.plugin-config.namespace = /x"),
        "job.conf:1:40: the namespace '/x' must end with '/'. Use '/x/'",
    ),
    "bad HOCON": (
        GOOD.replace("plugin_input = a }", "plugin_input = a "),
        "job.conf:8:1: the '{' in line 5 is never closed: a '}' is missing",
    ),
    "missing variable": (
        GOOD.replace("/in", "${input}"),
        "job.conf:3:22: the variable ${input} is not set. "
        "Pass -i input=VALUE, set input in the environment, or use ${input:default}",
    ),
    "section as a text": (
        GOOD.replace("Console { plugin_input = a }", "Console = yes"),
        "job.conf:6:3: sink 'Console' must be a block of options. Use Console { … }",
    ),
    "unknown shade": (
        GOOD.replace("parallelism = 1", "shade.identifier = base46"),
        "job.conf:1:26: there is no shade 'base46'; available: base64, default. To add a shade, install a package "
        "with an entry point in the group seatunnel.config_shade",
    ),
    "leftover of another engine": (
        GOOD.replace("parallelism = 1", "execution.checkpoint.mode = x"),
        "job.conf:1:28: 'execution.checkpoint.mode' has no effect: it is a Flink option",
    ),
    "exactly-once where it cannot be": (
        GOOD.replace("plugin_input = a", "plugin_input = a, exactly_once = true"),
        "the sink 'Console-sink-a' requires exactly-once, but its pipeline provides only at-least-once: "
        "the sink 'Console-sink-a' (Console) cannot roll back rows. Use other connectors, or set exactly_once = false",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_one_message(name: Any) -> None:
    text, expected = MISTAKES[name]
    assert messages(text) == [expected]


@pytest.mark.parametrize("name", ["unknown key in a source", "misspelt key in a source", "key of env in a source"])
def test_unknown_keys_of_connectors_are_errors_where_it_is_strict(name: str) -> None:
    text, expected = MISTAKES[name]
    with pytest.raises(SeaTunnelError) as raised:
        plan_job(raw(text, strict=True), Plugins(), ENGINE)
    assert str(raised.value) == expected


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.conf").write_bytes(b"a = \xff")
    for path, why in (
        (tmp_path / "no.conf", f"the file does not exist in {tmp_path}"),
        (tmp_path / "latn.conf", f"the file does not exist; did you mean {tmp_path}/latin.conf?"),
        (tmp_path / "none" / "no.conf", f"the file does not exist in {tmp_path}/none"),
        (tmp_path, "it is a folder; specify a file in it"),
        (tmp_path / "latin.conf", "it is not UTF-8 text (byte 4)"),
    ):
        with pytest.raises(SeaTunnelError) as raised:
            load_job(path)
        assert why in str(raised.value)
        assert str(path) in str(raised.value)


def test_all_mistakes_of_a_job_are_named_at_once() -> None:
    text = "env { parallelism = x, a = 1 }\nsource {\n  LocalFile { file_format_type = y }\n}\nsink {\n  Nope { }\n}"
    assert [line.split(" ")[0] for line in messages(text)] == [
        "job.conf:1:21:",
        "job.conf:1:24:",
        "job.conf:3:34:",
        "job.conf:3:3:",
        "job.conf:6:3:",
    ]


def test_a_secret_is_never_in_a_message() -> None:
    for key in ("password", "secret.size"):
        text = GOOD.replace("path = /in", f'path = /in, "{key}" = [hush-hush]')
        assert messages(text)
        assert "hush" not in "\n".join(messages(text))


# -- mistakes that are made from the declarations of the options ------------------------------------------------------

_BY_KIND: dict[str, list[Any]] = {"source": [LocalFile, Stream], "transform": [Keep], "sink": [FileSink, Console]}
_IN_CODE_ONLY = ("source", "Memory")
"""What no file can ask for."""

_BUILT_IN = [
    plugin
    for plugin in lookup.plugins()
    if plugin.distribution == "seatunnel-core" and (plugin.kind, plugin.identifier) != _IN_CODE_ONLY
]
_DECLARED = [
    (Plugins(), kind, plugin, option)
    for kind, plugins in _BY_KIND.items()
    for plugin in plugins
    for option in (*plugin.declared, *COMMON[Kind(kind)])
] + [
    (lookup, plugin.kind, plugin.declared, option)  # type: ignore[misc]
    for plugin in _BUILT_IN
    if plugin.declared is not None
    for option in (*plugin.declared.declared, *COMMON[Kind(plugin.kind)])  # type: ignore[attr-defined]
]
"""Every option of every plugin here, and of every connector and transform that comes with the engine."""


def _messages(plugins: Any, kind: str, plugin: Any, block: dict[str, object]) -> list[str]:
    """What is said about a job, as JSON, whose node of this kind has these options besides those that it needs."""
    chosen = _CHOSEN.get(plugin.identifier, {}) | _CHOSEN.get(f"{kind} {plugin.identifier}", {})
    required = [option for option in plugin.declared if option.required and option.key not in chosen]
    needed = {option.key: _right(option) for option in required} | chosen
    nodes: dict[str, list[dict[str, object]]] = {
        "source": [{"plugin_name": "LocalFile", "path": "/in", "file_format_type": "csv"}],
        "transform": [],
        "sink": [{"plugin_name": "Console"}],
    }
    nodes[kind] = [{"plugin_name": plugin.identifier, **needed, **block}]
    try:
        goes_on = Manifest(job_name="job")  # the input of such a job is not looked at: for some it is on a server
        plan_job(raw(json.dumps(nodes), strict=True), plugins, ENGINE, manifest=goes_on)
    except SeaTunnelError as error:
        return str(error).splitlines()
    return []


_CHOSEN: dict[str, dict[str, object]] = {
    "Filter": {"include_fields": ["a"]},
    "FilterRowKind": {"include_kinds": ["INSERT"]},
    "Copy": {"fields": {"b": "a"}},
    "Sql": {"query": "SELECT a FROM t"},
    "JsonPath": {"columns": [{"src_field": "a", "path": "$.b", "dest_field": "b"}]},
    "DataValidator": {"field_rules": [{"field_name": "a", "rule_type": "NOT_NULL"}]},
    "Assert": {"rules": {"row_rules": [{"rule_type": "MIN_ROW", "rule_value": 1}]}},
    "Spark": {"format": "json"},
    "Jdbc": {"url": "jdbc:sqlite::memory:"},
    **{name: {"url": "jdbc:mysql://localhost/shop"} for name in ("MySQL-CDC", "MariaDB-CDC")},
    "Postgres-CDC": {"url": "jdbc:postgresql://localhost/shop"},
    "source Jdbc": {"query": "SELECT 1 AS id"},
    "sink Jdbc": {"query": "INSERT INTO t VALUES (?)"},
    **{name: {"url": "http://localhost/rows"} for name in ("Http", "Github", "Gitlab", "Jira", "Klaviyo", "Lemlist")},
    **{name: {"url": "http://localhost/rows"} for name in ("MyHours", "Notion", "OneSignal", "Persistiq")},
    **{name: {"url": "http://localhost/rows"} for name in ("DingTalk", "Feishu", "WeChat")},
    "Slack": {"webhooks_url": "http://localhost/rows"},
    "LLM": {"model_provider": "OPENAI", "api_key": "k"},
    "Embedding": {"model_provider": "OPENAI", "api_key": "k", "dimension": 2, "vectorization_fields": {"v": "a"}},
    "HdfsFile": {"fs.defaultFS": "hdfs://localhost:9000"},
    "OssFile": {"bucket": "bucket", "endpoint": "http://localhost", "access_key": "k", "access_secret": "s"},
    "Iceberg": {"iceberg.catalog.config": {"type": "rest", "uri": "http://catalog:8181"}},
}
"""What a plugin asks for beyond its required options."""


def _right(option: Option[Any]) -> object:
    """Some value that the option takes."""
    candidates = ("csv", "key", 1, "1", {"fields": {"a": "int"}}, ["a"], "os.path:join")
    return next(value for value in candidates if _fits(option, value))


def _fits(option: Option[Any], value: object) -> bool:
    try:
        option.type.parse(value)
    except ValueError:
        return False
    return True


def test_the_connectors_of_the_engine_are_among_them() -> None:
    assert {plugin.identifier for plugin in _BUILT_IN} >= {"LocalFile", "FakeSource", "Console", "Filter"}


def test_what_each_plugin_needs_is_no_mistake() -> None:
    bare = {(kind, plugin.identifier): (plugins, kind, plugin) for plugins, kind, plugin, _ in _DECLARED}
    assert [said for plugins, kind, plugin in bare.values() for said in _messages(plugins, kind, plugin, {})] == []


@given(st.sampled_from(_DECLARED), st.sampled_from(["§", [["§"]], {"§": ["§"]}]))
def test_a_wrong_value_of_any_option_is_one_message_that_names_it(declared: Any, value: Any) -> None:
    plugins, kind, plugin, option = declared
    assume(not _fits(option, value))
    assume(not (option.type.entries and isinstance(value, dict)))  # a block, which may be wrong in several ways
    opened = any(other.key.startswith(f"{option.key}.") for other in plugin.declared)
    assume(not (opened and isinstance(value, dict)))  # what stands in it is taken for one of those
    (message,) = _messages(plugins, kind, plugin, {option.key: value})
    assert f"{kind} {plugin.identifier}: {option.key!r}" in message
    assert message.startswith("job.conf:1:")


_UNDER_A_NOTED_PREFIX = next(each for each in _DECLARED if each[3].key == "schema-changes.enabled")


@example(declared=_UNDER_A_NOTED_PREFIX, at=17, letter="x")
@given(st.sampled_from(_DECLARED), st.integers(min_value=0, max_value=30), st.sampled_from("_xq"))
def test_a_letter_too_much_in_any_option_is_one_message_that_names_the_option(
    declared: Any, at: int, letter: str
) -> None:
    plugins, kind, plugin, option = declared
    assume(not option.required and len(option.key) >= 5)
    (message,) = _messages(plugins, kind, plugin, {option.key[:at] + letter + option.key[at:]: 1})
    assert f"Did you mean {option.key!r}?" in message


@given(st.sampled_from([each for each in _DECLARED if each[3].required]))
def test_any_missing_option_is_one_message_that_names_it(declared: Any) -> None:
    plugins, kind, plugin, option = declared
    (message,) = _messages(plugins, kind, plugin, {option.key: None})
    assert f"the {kind} {plugin.identifier} needs the option {option.key!r}" in message
