from pathlib import Path

import pytest

from seatunnel_core.config.document import Block, Position
from seatunnel_core.config.engine import EngineConfig, find_engine_file, load_engine, read_storage
from seatunnel_core.config.engine_options import ENGINE
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import ConfigError


def engine(text: str, tmp_path: Path, *, strict: bool = False) -> EngineConfig:
    file = tmp_path / "seatunnel.yaml"
    file.write_text(text)
    return load_engine(file, environment={}, strict=strict)


def messages(config: EngineConfig) -> str:
    return "\n".join(str(warning) for warning in config.warnings)


def test_leftovers_are_warnings_and_errors_when_asked(tmp_path: Path) -> None:
    text = "seatunnel: {engine: {checkpoint: {storage: {type: hdfs, plugin-config: {K1: V1}}}}}"
    assert "the key 'K1' in plugin-config is unknown and has no effect" in messages(engine(text, tmp_path))
    with pytest.raises(ConfigError, match="the key 'K1' in plugin-config is unknown and has no effect"):
        engine(text, tmp_path, strict=True)


SHIPPED = """
seatunnel:
  engine:
    classloader-cache-mode: true
    history-job-expire-minutes: 1440
    backup-count: 1
    queue-type: blockingqueue
    print-execution-info-interval: 60
    print-job-metrics-info-interval: 60
    metrics-fetch-timeout-ms: 3000
    slot-service:
      dynamic-slot: true
      slot-allocate-strategy: RANDOM
    checkpoint:
      interval: 10000
      timeout: 60000
      schema-change-timeout: 30000
      storage:
        type: hdfs
        max-retained: 3
        plugin-config: {namespace: /tmp/seatunnel/, storage.type: hdfs, fs.defaultFS: "file:///tmp/"}
    coordinator-service: {core-thread-num: 30, max-thread-num: 1000}
    jar-storage: {enable: false, connector-jar-storage-mode: SHARED}
    event-report-http: {url: "http://127.0.0.1/event", headers: {Content-Type: application/json}}
    telemetry:
      metric: {enabled: false}
      logs: {scheduled-deletion-enable: true}
    http: {enable-http: true, port: 8080, enable-dynamic-port: false, https-port: 8443, key-store-password: hidden}
"""


def test_every_key_that_seatunnel_knows_is_accepted(tmp_path: Path) -> None:
    """SeaTunnel's own file was refused: three of its keys were said to be unknown."""
    config = engine(SHIPPED, tmp_path, strict=True)
    said = messages(config)
    for key in ("classloader-cache-mode", "telemetry.logs.scheduled-deletion-enable", "metrics-fetch-timeout-ms",
                "event-report-http.headers", "http.key-store-password"):  # fmt: skip
        assert f"{key!r} has no effect" in said
    assert "hidden" not in said
    with pytest.raises(ConfigError, match=r"has no option 'http\.prot'\. Did you mean 'http\.port'"):
        engine(SHIPPED.replace("port: 8080", "prot: 8080"), tmp_path)


def test_without_a_file_the_storage_is_the_users_state_folder(tmp_path: Path) -> None:
    config = load_engine(environment={"HOME": "/home/me"}, folder=tmp_path)
    assert config.file is None
    assert config.storage.type == "hdfs"
    assert config.storage.plugin_config == {
        "storage.type": "local",
        "namespace": "/home/me/.local/state/seatunnel/checkpoint/",
    }
    other = load_engine(environment={"HOME": "/home/me", "XDG_STATE_HOME": "/state"}, folder=tmp_path)
    assert other.storage.plugin_config["namespace"] == "/state/seatunnel/checkpoint/"


def test_a_file_without_a_type_means_localfile(tmp_path: Path) -> None:
    storage = engine("seatunnel:\n  engine:\n    backup-count: 2\n", tmp_path).storage
    assert (storage.type, storage.max_retained) == ("localfile", 3)


@pytest.mark.parametrize(
    ("written", "namespace"),
    [
        ("max-retained: 4", "/home/me/.local/state/seatunnel/checkpoint/"),
        ("plugin-config: {namespace: /data/checkpoint/}", "/data/checkpoint/"),
        ("type: localfile", None),
        ("type: hdfs", None),
    ],
)
def test_a_file_that_says_no_place_needs_no_root(tmp_path: Path, written: str, namespace: str | None) -> None:
    """Checkpoints of such a file went to /seatunnel, which only root may make."""
    file = tmp_path / "seatunnel.yaml"
    file.write_text(f"seatunnel: {{engine: {{checkpoint: {{storage: {{{written}}}}}}}}}")
    storage = load_engine(file, environment={"HOME": "/home/me"}).storage
    assert storage.plugin_config.get("namespace") == namespace


def test_the_file_is_looked_for_in_order(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    places = [home / "config" / "seatunnel.yaml", folder / "config" / "seatunnel.yaml", folder / "seatunnel.yaml"]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("seatunnel:")
    environment = {"SEATUNNEL_HOME": str(home)}
    named = {**environment, "SEATUNNEL_CONFIG": "/named.yaml"}
    assert find_engine_file(Path("/explicit.yaml"), named, folder) == Path("/explicit.yaml")
    assert find_engine_file(None, named, folder) == Path("/named.yaml")
    for place in places:
        assert find_engine_file(None, environment, folder) == place
        place.unlink()
    assert find_engine_file(None, environment, folder) is None
    assert find_engine_file(None, {}, folder) is None


def test_a_named_file_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the file does not exist"):
        load_engine(tmp_path / "no.yaml", environment={})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seatunnel: {engine: {chekpoint: {}}}", "has no option 'chekpoint'. Did you mean 'checkpoint'?"),
        ("seatunnel: {engine: {backup-cont: 1}}", "has no option 'backup-cont'. Did you mean 'backup-count'?"),
        ("seatunnel: {engine: {checkpoint: {intervall: 1}}}", "Did you mean 'checkpoint.interval'?"),
        ("seatunnel: {engine: {job.name: x}}", "It belongs in env of the job file"),
        ("seatunnel: {engine: {interval: 1}}", "It belongs in seatunnel.engine.checkpoint"),
        ("seatunnel: {engine: {namespace: /x/}}", "It belongs in seatunnel.engine.checkpoint.storage.plugin-config"),
        ("seatunnel: {engin: {}}", "seatunnel has no key 'engin'. Did you mean 'engine'?"),
        ("checkpoint: {}", "the engine's file has no key 'checkpoint'. The only valid key is 'seatunnel'"),
        ("seatunnel: {engine: 5}", "'engine' takes a block"),
        ("seatunnel: {engine: {checkpoint: {interval: soon}}}", "expected milliseconds"),
        ("seatunnel: {engine: {checkpoint: {storage: {max-retained: 0}}}}", "from 1 to 1000000, found 0"),
        ("seatunnel: {engine: {checkpoint: {storage: {typ: hdfs}}}}", "Did you mean 'type'?"),
        ("seatunnel: {engine: {checkpoint: {storage: hdfs}}}", "'checkpoint.storage'"),
        (
            "seatunnel: {engine: {checkpoint: {storage: {plugin-config: {namespace: /x}}}}}",
            "the namespace '/x' must end with '/'. Use '/x/'",
        ),
        ("seatunnel: {engine: {http: {basic-auth-password: [1]}}}", "expected text (the value is not shown)"),
    ],
)
def test_mistakes_are_errors_with_file_line_and_what_to_write(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        engine(text, tmp_path)
    assert expected in str(raised.value)
    assert "seatunnel.yaml:1:" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_all_mistakes_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        engine("seatunnel:\n  engine:\n    a1: 1\n    backup-count: x\n    checkpoint:\n      timeout: y\n", tmp_path)
    assert [line.split(": ")[0].rsplit("seatunnel.yaml:")[1] for line in str(raised.value).splitlines()] == [
        "4:19",
        "6:16",
        "3:5",
    ]


def test_known_keys_without_an_effect_say_so(tmp_path: Path) -> None:
    config = engine("seatunnel: {engine: {queue-type: blockingqueue, http: {port: 80}}}", tmp_path)
    assert "'queue-type' has no effect: rows do not pass" in messages(config)
    assert "'http.port' has no effect: only the nodes of a cluster" in messages(config)


def test_every_option_has_words_for_people() -> None:
    for option in ENGINE:
        assert option.doc.endswith("."), option.key


def with_keys(kind: str, keys: str) -> str:
    return f"seatunnel: {{engine: {{checkpoint: {{storage: {{type: {kind}, plugin-config: {{{keys}}}}}}}}}}}"


@pytest.mark.parametrize("kind", ["hdfs", "jdbc", "localfile", "map-store"])
def test_a_key_that_the_storage_does_not_know_is_named_where_it_stands(kind: str, tmp_path: Path) -> None:
    said = messages(engine(with_keys(kind, "K1: V1"), tmp_path))
    assert "seatunnel.yaml:1:" in said
    assert "the key 'K1' in plugin-config is unknown" in said


def test_a_key_of_another_backend_is_named_and_one_of_its_own_is_not(tmp_path: Path) -> None:
    keys = "storage.type: s3, fs.s3a.ssl.ca-file: /ca, fs.oss.endpoint: x"
    said = messages(engine(with_keys("hdfs", keys), tmp_path))
    assert "the key 'fs.oss.endpoint' in plugin-config has no effect on S3" in said
    assert "ca-file" not in said


def test_a_key_that_was_named_is_not_given_to_the_storage_which_would_name_it_again(tmp_path: Path) -> None:
    config = engine(with_keys("hdfs", "K1: V1, namespace: /here/"), tmp_path)
    assert config.storage.effective == {"namespace": "/here/", "max-retained": "3"}
    changed = read_storage(Block((), Position("job.conf", 1)), Problems(), base=config.storage)
    assert changed.effective == config.storage.effective


def test_the_keys_of_a_storage_that_is_not_installed_are_not_judged(tmp_path: Path) -> None:
    assert messages(engine(with_keys("mine", "K1: V1"), tmp_path)) == ""


def test_a_missing_variable_is_looked_for_in_the_environment_only(tmp_path: Path) -> None:
    """No ``-i`` reaches the engine's file."""
    with pytest.raises(
        ConfigError, match=r"the variable \$\{S3_KEY\} is not set. Set S3_KEY in the environment, or use"
    ):
        engine(with_keys("hdfs", "fs.s3a.access.key: '${S3_KEY}'"), tmp_path)


def test_options_for_the_jvm_of_a_client_are_said_to_have_no_effect(tmp_path: Path) -> None:
    """They were left unread without a word."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/seatunnel.yaml").write_text("seatunnel: {engine: {}}\n")
    (tmp_path / "config/jvm_client_options").write_text("# JVM Heap\n")
    assert not load_engine(folder=tmp_path, environment={}).warnings
    (tmp_path / "config/jvm_client_options").write_text("# JVM Heap\n-Xmx512m\n")
    (warning,) = load_engine(folder=tmp_path, environment={}).warnings
    assert "jvm_client_options has no effect" in str(warning)
    assert not load_engine(folder=tmp_path, environment={}, of_node=True).warnings
