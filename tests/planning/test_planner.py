import pickle
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import Kind, RawJob, job_from_code, load_job, read_job
from seatunnel_core.config.option import Options
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.sink import Guarantee
from seatunnel_core.errors import ConfigError, JobError
from seatunnel_core.planning.guarantee import promise, weakest
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from tests.planning import plugins_for_plans
from tests.planning.plugins_for_plans import Plugins

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))

JOB = """
env {
  job.name = two, parallelism = 4, read_limit.rows_per_second = 50
  spark.executor.memory = 1g, "spark.speculation" = true, spark.speculation.interval = 1s
}
source {
  localfile { path = /a, file_format_type = csv, plugin_output = a }
  LocalFile { path = /b, file_format_type = csv, plugin_output = b, parallelism = 2, row_error_handle_way = skip }
}
transform {
  Keep { plugin_input = b, plugin_output = c, columns = "id,name" }
}
sink {
  LocalFile { path = /out, plugin_input = a }
  LocalFile { path = /out2, plugin_input = "a, c" , name = both }
}
"""


SMALL = """env {{ }}
source {{ {source} }}
sink {{
{sinks}
}}"""
_FILE = "LocalFile { path = /a, file_format_type = csv, plugin_output = a }"


def raw(text: str, name: str = "job.conf") -> RawJob:
    problems = Problems()
    return read_job(parse(text, name, Variables({}, {}), problems), name, problems)


def planned(text: str, name: str = "job.conf", **more: object) -> PlannedJob:
    return plan_job(raw(text, name), Plugins(), ENGINE, **more)  # type: ignore[arg-type]


def test_a_job_is_planned() -> None:
    job = planned(JOB.replace('plugin_input = "a, c"', "plugin_input = c"))
    assert (job.name, job.mode) == ("two", "BATCH")
    assert job.spark_options == {
        "spark.executor.memory": "1g",
        "spark.speculation": "true",
        "spark.speculation.interval": "1s",
    }
    first, second = job.pipelines
    assert [(source.name, source.ordinal, source.parallelism) for source in first.sources] == [("a", 0, 4)]
    assert [(sink.name, sink.ordinal, sink.inputs) for sink in first.sinks] == [("LocalFile-sink-a", 0, ("a",))]
    assert [(source.parallelism, source.rows_per_second) for source in second.sources] == [(2, 50)]
    assert [(transform.name, transform.inputs) for transform in second.transforms] == [("c", ("b",))]
    assert [(sink.name, sink.inputs) for sink in second.sinks] == [("both", ("c",))]
    assert second.transforms[0].transform.options["columns"] == ("id", "name")
    assert second.sources[0].source.options["row_error_handle_way"] == "SKIP"
    assert first.sources[0].source.options["row_error_handle_way"] == "FAIL"


def test_a_sink_of_two_sources_joins_their_pipelines() -> None:
    (pipeline,) = planned(JOB).pipelines
    assert [source.name for source in pipeline.sources] == ["a", "b"]
    assert [(sink.name, sink.ordinal, sink.inputs) for sink in pipeline.sinks] == [
        ("LocalFile-sink-a", 0, ("a",)),
        ("both", 1, ("a", "c")),
    ]


def test_plugins_travel_to_tasks() -> None:
    pipeline = planned(JOB).pipelines[0]
    copy = pickle.loads(pickle.dumps(pipeline.sources[0].source))
    assert copy.options["path"] == "/a"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"source": [{"plugin_name": "LocalFile", "path": "/a", "file_format_type": "csv"}],'
         ' "sink": [{"plugin_name": "Console"}], "env": {"checkpoint.interval": 10, "spark.a.b": "c"}}', "j.json"),
        ("env:\n  checkpoint.interval: 10\n  spark.a.b: c\nsource:\n  LocalFile: {path: /a, file_format_type: csv}\n"
         "sink:\n  Console:", "j.yaml"),
        ("env:\n  checkpoint: {interval: 10}\n  spark: {a: {b: c}}\n"
         "source:\n- LocalFile: {path: /a, file_format_type: csv}\nsink:\n- plugin_name: Console", "j.yml"),
        ("env { checkpoint.interval = 10, spark.a.b = c }\nsource { LocalFile { path = /a, file_format_type = csv } }\n"
         "sink { Console { } }", "j.conf"),
    ],
)  # fmt: skip
def test_every_format_says_the_same(text: str, name: str) -> None:
    job = planned(text, name)
    assert (job.env["checkpoint.interval"], job.spark_options) == (10, {"spark.a.b": "c"})
    assert [source.name for source in job.pipelines[0].sources] == ["LocalFile-source-1"]
    assert [sink.sink.identifier for sink in job.pipelines[0].sinks] == ["Console"]


def test_a_job_that_is_built_in_code_may_have_functions() -> None:
    def double(batch: object) -> object:
        return batch

    job = plan_job(
        job_from_code(
            {"job.name": "code", "checkpoint.interval": "1 s"},
            [
                (Kind.SOURCE, "LocalFile", {"path": Path("/a"), "file_format_type": "csv", "plugin_output": "a"}),
                (Kind.TRANSFORM, "Keep", {"function": double, "columns": ["id"]}),
                (Kind.SINK, "Console", {}),
            ],
        ),
        Plugins(),
        ENGINE,
    )
    assert job.name == "code"
    assert job.env["checkpoint.interval"] == 1_000
    assert job.pipelines[0].transforms[0].transform.options["function"] is double


def test_the_name_of_the_command_line_wins() -> None:
    job = plan_job(raw(JOB), Plugins(), ENGINE, name="other")
    assert (job.name, job.manifest.job_name) == ("other", "other")


def test_a_restored_job_keeps_its_numbers() -> None:
    first = planned(JOB.replace('plugin_input = "a, c"', "plugin_input = c"))
    more = JOB.replace('plugin_input = "a, c"', "plugin_input = c").replace(
        "source {", "source {\n LocalFile { path = /z, file_format_type = csv, plugin_output = z }"
    )
    more = more.replace("sink {", "sink {\n Console { plugin_input = z }")
    again = plan_job(raw(more), Plugins(), ENGINE, manifest=first.manifest)
    assert [pipeline.id for pipeline in again.pipelines] == [3, 1, 2]
    assert again.dropped == ()
    only_a = SMALL.format(source=_FILE, sinks="LocalFile { path = /out, plugin_input = a }")
    fewer = plan_job(raw(only_a), Plugins(), ENGINE, manifest=first.manifest)
    assert ([pipeline.id for pipeline in fewer.pipelines], fewer.dropped) == ([1], ("b", "both"))


def test_a_job_may_have_its_own_checkpoint_storage() -> None:
    assert planned(JOB).storage == ENGINE.storage
    text = JOB.replace(
        "parallelism = 4", 'checkpoint.storage { max-retained = 9, plugin-config { namespace = "/x/" } }'
    )
    own = planned(text).storage
    assert (own.type, own.max_retained) == ("hdfs", 9)
    assert own.plugin_config == {"storage.type": "local", "namespace": "/x/"}
    other = planned(
        JOB.replace("parallelism = 4", "checkpoint.storage { type = mine, plugin-config { a = b } }")
    ).storage
    assert (other.type, other.max_retained, other.plugin_config) == ("mine", 3, {"a": "b"})


def test_a_wrong_storage_of_a_job_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"job\.conf:\d+:\d+: checkpoint.storage: 'max-retained'"):
        planned(JOB.replace("parallelism = 4", "checkpoint.storage { max-retained = none }"))


def test_only_the_graph_is_wrong() -> None:
    with pytest.raises(JobError):
        planned(JOB.replace("plugin_input = a }", "plugin_input = aa }"))


def test_a_plugin_may_refuse_its_options() -> None:
    class Picky(Plugins):
        def source(self, identifier: str) -> type:
            class Refusing(super().source(identifier)):  # type: ignore[misc]
                def __init__(self, options: Options) -> None:
                    raise ValueError("path and pattern exclude each other")

            return Refusing

    with pytest.raises(ConfigError) as raised:
        plan_job(raw(JOB), Picky(), ENGINE)
    assert "job.conf:7:3: the source LocalFile: path and pattern exclude each other" in str(raised.value)


def test_warnings_are_kept_for_the_closing_lines() -> None:
    job = planned(JOB.replace("path = /a", "path = /a, pathe = /b"))
    assert [str(warning) for warning in job.warnings] == [
        "job.conf:7:26: the source LocalFile has no option 'pathe'. Did you mean 'path'?"
    ]


def test_a_pipeline_promises_no_more_than_its_weakest_part() -> None:
    exactly = planned(SMALL.format(source=_FILE, sinks="LocalFile { path = /o }")).pipelines[0]
    assert weakest(exactly).guarantee is Guarantee.EXACTLY_ONCE
    mixed = planned(SMALL.format(source=_FILE, sinks="LocalFile { path = /o }\nConsole { }")).pipelines[0]
    assert [promise(mixed, sink).guarantee for sink in mixed.sinks] == [
        Guarantee.EXACTLY_ONCE,
        Guarantee.AT_LEAST_ONCE,
    ]
    assert weakest(mixed).reason == "the sink 'Console-sink-1' (Console) cannot roll back rows"
    stream = planned(SMALL.format(source="Stream { }", sinks="LocalFile { path = /o }")).pipelines[0]
    assert weakest(stream).reason == "the source 'Stream-source-1' (Stream) cannot read the same rows again"


def test_exactly_once_can_be_asked_for_where_it_holds() -> None:
    sinks = "LocalFile { path = /o, exactly_once = true, is_exactly_once = true }\nConsole { }"
    assert planned(SMALL.format(source=_FILE, sinks=sinks)).pipelines


@pytest.mark.parametrize("key", ["exactly_once", "is_exactly_once"])
def test_more_than_the_parts_can_is_refused_with_the_reason(key: str) -> None:
    with pytest.raises(JobError, match="the source 'Stream-source-1' \\(Stream\\) cannot read the same rows again"):
        planned(SMALL.format(source="Stream { }", sinks=f"LocalFile {{ path = /o, {key} = true }}"))


def test_a_file_is_loaded_with_its_variables(tmp_path: Path) -> None:
    path = tmp_path / "job.conf"
    path.write_text(SMALL.format(source=_FILE.replace("/a", "${in}"), sinks="Console { }"))
    job = plan_job(load_job(path, Variables({"in": "/data"}, {})), Plugins(), ENGINE)
    assert job.pipelines[0].sources[0].source.options["path"] == "/data"


def test_a_plugin_whose_tasks_lack_a_package_is_refused_with_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins_for_plans.Keep, "task_modules", ("pyarrow", "no_such_package"))
    with pytest.raises(ConfigError, match=r"the transform Keep needs no_such_package .not installed here.: run pip"):
        planned(JOB)


def test_a_package_that_only_these_options_need_is_reported_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class OfOneFormat(plugins_for_plans.LocalFile):
        def __init__(self, options: Options) -> None:
            super().__init__(options)
            self.task_modules = ("no_such_format",) if options["file_format_type"] == "json" else ()

    known = {**Plugins._known, "source": {"localfile": OfOneFormat}}
    monkeypatch.setattr(Plugins, "_known", known)
    job = SMALL.format(source=_FILE, sinks="LocalFile { path = /out }")
    assert planned(job)
    with pytest.raises(ConfigError, match=r"the source LocalFile needs no_such_format .not installed here."):
        planned(job.replace("csv", "json"))
