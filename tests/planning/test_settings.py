"""What the options of a job and its engine mean for protocol, restarts and Spark."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.checkpoint.decisions.restart import RestartPolicy
from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.planning import settings
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.planning.settings import checkpoint_policy, restart_policy, spark_settings, topology_of
from tests.planning import plugins_for_plans
from tests.planning.plugins_for_plans import Plugins

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
NODES = """
source {
  LocalFile { path = /a, file_format_type = csv, plugin_output = a, parallelism = 3 }
  LocalFile { path = /b, file_format_type = csv, plugin_output = b }
}
transform { Keep { plugin_input = b, plugin_output = c, columns = "id,name" } }
sink {
  LocalFile { path = /one, plugin_input = c, name = one }
  LocalFile { path = /both, plugin_input = "a, c", name = both }
}
"""


def planned(env: str = "", nodes: str = NODES) -> PlannedJob:
    problems = Problems()
    tree = parse(f"env {{ {env} }}\n{nodes}", Path("job.conf"), Variables({}, {}), problems)  # type: ignore[arg-type]
    return plan_job(read_job(tree, "job.conf", problems), Plugins(), ENGINE)


def engine_with(folder: Path, checkpoint: str) -> EngineConfig:
    file = folder / "seatunnel.yaml"
    file.write_text(f"seatunnel:\n  engine:\n    checkpoint: {{ {checkpoint}, storage: {{ type: hdfs }} }}\n")
    return load_engine(file, environment={})


@pytest.mark.parametrize(
    ("env", "interval_ms"),
    [
        ("", None),
        ("job.mode = BATCH, checkpoint.interval = 1000", 1000),
        ("job.mode = STREAMING", 300_000),
        ("job.mode = STREAMING, checkpoint.interval = 10", 10),
    ],
)
def test_batch_job_checkpoints_only_when_its_own_env_says_so(env: str, interval_ms: int | None) -> None:
    assert checkpoint_policy(planned(env), ENGINE).interval_ms == interval_ms


def test_a_source_that_never_ends_takes_the_checkpoints_of_the_engine_in_a_batch_job_too() -> None:
    """Its rows would never become visible."""
    nodes = NODES.replace("LocalFile { path = /a", "Stream { path = /a")
    assert checkpoint_policy(planned("job.mode = BATCH", nodes), ENGINE).interval_ms == 300_000
    assert [source.bounded for source in topology_of(planned("", nodes).pipelines[0]).sources] == [False, True]


def test_env_wins_over_the_engine(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, "timeout: 7000, min-pause: 50, max-concurrent: 5, tolerable-failure: 2")
    general = checkpoint_policy(planned("checkpoint.interval = 10"), engine)
    assert (general.timeout_ms, general.min_pause_ms) == (7000, 50)
    assert (general.max_concurrent, general.tolerable_failures) == (5, 2)
    env = "checkpoint.interval = 10, checkpoint.timeout = 90, checkpoint.min-pause = 0"
    own = checkpoint_policy(planned(env), engine)
    assert (own.timeout_ms, own.min_pause_ms) == (90, 0)


def test_a_timeout_means_nothing_to_a_job_that_takes_no_checkpoints(tmp_path: Path) -> None:
    """``checkpoint.timeout = 10`` in a batch job without an interval held for its restore point and its last
    checkpoint, so that a slow disk ended the job."""
    engine = engine_with(tmp_path, "timeout: 15")
    for env in ("", "checkpoint.timeout = 10", "job.mode = BATCH, checkpoint.timeout = 10"):
        assert checkpoint_policy(planned(env), engine).timeout_ms == 600_000


def test_no_job_says_how_long_its_restore_point_may_take() -> None:
    """A streaming job with a short timeout was ended by its restore point: no barrier is sent for that one."""
    policy = checkpoint_policy(planned("job.mode = STREAMING, checkpoint.timeout = 10"), ENGINE)
    assert (policy.timeout_ms, policy.restore_timeout_ms) == (10, 600_000)


def test_no_pause_is_minus_one_as_in_seatunnel() -> None:
    assert checkpoint_policy(planned(), ENGINE).min_pause_ms == 0


def test_retries() -> None:
    job = planned("job.retry.times = 7, job.retry.interval.seconds = 2")
    assert restart_policy(job) == RestartPolicy(retry_times=7, retry_interval_ms=2000)


def test_sources_know_the_sinks_that_their_rows_reach() -> None:
    (pipeline,) = planned("read_limit.rows_per_second = 9").pipelines
    topology = topology_of(pipeline)
    described: dict[str, Any] = {spec.name: (spec.sinks, spec.parallelism) for spec in topology.sources}
    assert described == {"a": (("both",), 3), "b": (("one", "both"), 1)}
    assert {spec.rows_per_second for spec in topology.sources} == {9}


def test_units_run_one_after_another_only_if_a_sink_writes_them_directly_and_their_order_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A staging sink that needs the order gets it when the units are published (R13)."""
    nodes = """
    source {
      LocalFile { path = /a, file_format_type = csv, plugin_output = a }
      Stream { plugin_output = b }
      Stream { plugin_output = c }
    }
    sink {
      Console { plugin_input = [a, b] }
      LocalFile { path = /all, plugin_input = [a, b, c] }
    }
    """

    def topology() -> list[tuple[str, bool, bool, bool]]:
        (pipeline,) = planned("job.mode = STREAMING", nodes).pipelines
        return [(spec.name, spec.ordered, spec.serial, spec.keyed) for spec in topology_of(pipeline).sources]

    assert topology() == [("a", False, False, False), ("b", False, False, False), ("c", False, False, False)]
    monkeypatch.setattr(plugins_for_plans.Stream, "ordered", True)
    assert topology() == [("a", False, False, False), ("b", True, True, True), ("c", True, False, False)]


@pytest.mark.parametrize("sink", [plugins_for_plans.Console, plugins_for_plans.FileSink], ids=["direct", "staging"])
def test_ordering_keys_do_not_count_if_a_sink_needs_the_order_of_all_rows(
    sink: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that stages: results that may overtake each other reach it, too."""
    nodes = """
    source { Stream { plugin_output = a } }
    sink { Console { plugin_input = a }, LocalFile { path = /all, plugin_input = a } }
    """
    monkeypatch.setattr(plugins_for_plans.Stream, "ordered", True)
    (pipeline,) = planned("job.mode = STREAMING", nodes).pipelines
    assert [(spec.serial, spec.keyed) for spec in topology_of(pipeline).sources] == [(True, True)]
    for each in (plugins_for_plans.Console, plugins_for_plans.FileSink):
        monkeypatch.setattr(each, "needs_order", each is sink)
    assert [(spec.serial, spec.keyed) for spec in topology_of(pipeline).sources] == [(True, False)]


def test_a_sink_that_needs_the_order_makes_sources_serial_only_if_it_writes_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = """
    source { LocalFile { path = /a, file_format_type = csv, plugin_output = a } }
    sink {
      Console { plugin_input = a }
      LocalFile { path = /out, plugin_input = a }
    }
    """

    def serial() -> tuple[bool, bool]:
        (pipeline,) = planned("", nodes).pipelines
        (spec,) = topology_of(pipeline).sources
        return spec.ordered, spec.serial

    monkeypatch.setattr(plugins_for_plans.FileSink, "needs_order", True)
    monkeypatch.setattr(plugins_for_plans.Console, "needs_order", False)
    assert serial() == (True, False)
    monkeypatch.setattr(plugins_for_plans.Console, "needs_order", True)
    assert serial() == (True, True)


def test_master_of_the_command_line_wins() -> None:
    job = planned('spark.master = "local[7]", spark.executor.memory = 1g')
    own = spark_settings(job, master=None, jvm_options=(), log_file=None)
    assert own.options["spark.master"] == "local[7]"
    given = spark_settings(job, master="local[2]", jvm_options=("-Xmx1G",), log_file=None)
    assert given.options == {"spark.master": "local[2]", "spark.executor.memory": "1g"}
    assert "-Xmx1G" in given.java_options
    assert not given.on_frames


def test_what_tasks_import_is_declared_by_a_few_plugins_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def modules_in(pickled: bytes) -> set[str]:
        asked.append(pickled)
        return {"colorsys"}

    monkeypatch.setattr(settings, "modules_in", modules_in)
    source = "LocalFile {{ path = /{0}, file_format_type = csv, plugin_output = t{0} }}"
    sink = "LocalFile {{ path = /out/{0}, plugin_input = t{0} }}"
    nodes = "".join(
        kind + " {\n" + "\n".join(text.format(number) for number in range(20)) + "\n}\n"
        for kind, text in (("source", source), ("sink", sink))
    )
    preloads = spark_settings(planned(nodes=nodes), master=None, jvm_options=(), log_file=None).preloads
    assert {"seatunnel_core.spark.task", "colorsys"} <= set(preloads)
    assert len(asked) == 2 * 4, "of each kind four"


def test_rows_that_a_plugin_carries_are_not_copied_to_know_what_it_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def modules_in(pickled: bytes) -> set[str]:
        asked.append(pickled)
        return set()

    monkeypatch.setattr(settings, "modules_in", modules_in)
    job = planned()
    job.pipelines[0].sources[0].source.rows = bytes(4 << 20)  # type: ignore[attr-defined]
    spark_settings(job, master=None, jvm_options=(), log_file=None)
    assert asked
    assert max(map(len, asked)) < 1 << 20
