"""The command line as people type it: what is understood, and what each mistake is answered with."""

from pathlib import Path

import pytest

from seatunnel_core.cli.arguments import ShadeArguments, parse
from seatunnel_core.cli.checkpoints.arguments import parse_checkpoints
from seatunnel_core.cli.control_arguments import ControlArguments, ControlVerb
from seatunnel_core.cli.help.arguments import PluginsArguments
from seatunnel_core.cli.init_arguments import InitArguments
from seatunnel_core.cli.subcommands import SUBCOMMANDS
from seatunnel_core.errors import UsageError
from tests.cli.typed import refusal, typed


def test_every_argument_of_a_run() -> None:
    given = typed(
        *("-c", "job.conf", "-i", "day=2026-01-31", "--variable", "query=a=b", "-n", "nightly", "--set-job-id", "17"),
        *("-m", "local[2]", "--check", "--strict", "--engine-config", "st.yaml", "--log-level", "info"),
        *("--log-format", "json", "-DJvmOption=-Xms2G -Xmx2G"),
    )
    assert given.config == Path("job.conf")
    assert given.variables == {"day": "2026-01-31", "query": "a=b"}
    assert (given.name, given.set_job_id, given.restore) == ("nightly", "17", None)
    assert (given.master, given.check, given.strict) == ("local[2]", True, True)
    assert given.engine_config == Path("st.yaml")
    assert (given.log_level, given.log_format, given.jvm_options) == ("INFO", "json", "-Xms2G -Xmx2G")


def test_defaults() -> None:
    given = typed("--config=job.conf")
    assert (given.master, given.check, given.strict) == (None, False, False)
    assert (given.log_level, given.log_format) == ("WARNING", "text")
    assert (given.variables, given.name, given.set_job_id, given.restore, given.jvm_options) == (
        {},
        None,
        None,
        None,
        "",
    )


@pytest.mark.parametrize("flag", ["-m", "--master", "-e", "--deploy-mode"])
def test_the_four_names_of_the_master(flag: str) -> None:
    assert typed("-c", "j", flag, "spark://host:7077").master == "spark://host:7077"


def test_local_takes_all_cores() -> None:
    assert typed("-c", "j", "-m", "local").master == "local[*]"


def test_progress_is_a_log_record_in_json() -> None:
    assert typed("-c", "j", "--log-format", "json").log_level == "INFO"
    assert typed("-c", "j", "--log-format", "json", "--log-level", "warn").log_level == "WARNING"


def test_java_options_may_be_given_in_pieces() -> None:
    assert typed("-c", "j", "-DJvmOption=-Xmx2G", "-DJvmOption=-Xms1G").jvm_options == "-Xmx2G -Xms1G"


def test_variables_are_not_shown() -> None:
    assert "hunter2" not in repr(typed("-c", "j", "-i", "password=hunter2"))


def test_subcommands() -> None:
    assert parse(["init", "home"], version="1") == InitArguments(folder=Path("home"))
    assert parse(["plugins"], version="1") == PluginsArguments()


def test_a_file_is_encrypted_or_decrypted_instead_of_run() -> None:
    asked = parse(["-c", "j", "--encrypt", "-i", "password=hunter2"], version="1")
    assert asked == ShadeArguments(config=Path("j"), variables={"password": "hunter2"}, encrypt=True)
    assert "hunter2" not in repr(asked)
    assert parse(["--decrypt", "-c", "j"], version="1") == ShadeArguments(config=Path("j"), variables={}, encrypt=False)
    assert "not allowed with" in refusal("-c", "j", "--encrypt", "--decrypt")


@pytest.mark.parametrize("flag", ["--check", "-d", "--dry-run"])
def test_only_looking_has_the_name_that_others_give_it_too(flag: str) -> None:
    assert typed("-c", "j", flag).check


def test_a_job_ends_with_its_command_or_is_left_to_the_background() -> None:
    assert typed("-c", "j", "--async").background
    assert not typed("-c", "j", "-cj").background
    assert not typed("-c", "j", "--close-job").background
    assert "not allowed with" in refusal("-c", "j", "--async", "-cj")
    assert refusal("-c", "j", "--async", "--check").startswith("--async runs a job in the background")
    assert "--async has an effect only when a job starts" in refusal("-l", "--async")


def asked(*argv: str) -> ControlArguments:
    arguments = parse(argv, version="1")
    assert isinstance(arguments, ControlArguments)
    return arguments


@pytest.mark.parametrize(
    ("argv", "verb", "job_ids"),
    [
        (["-l"], ControlVerb.LIST, ()),
        (["--list"], ControlVerb.LIST, ()),
        (["-j", "one"], ControlVerb.LIST, ("one",)),
        (["--job-id=one"], ControlVerb.LIST, ("one",)),
        (["--metrics", "one"], ControlVerb.METRICS, ("one",)),
        (["--get_running_job_metrics"], ControlVerb.METRICS, ()),
        (["-s", "one"], ControlVerb.SAVEPOINT, ("one",)),
        (["-can", "one", "two"], ControlVerb.STOP, ("one", "two")),
    ],
)
def test_what_is_asked_of_running_jobs(argv: list[str], verb: ControlVerb, job_ids: tuple[str, ...]) -> None:
    arguments = asked(*argv)
    assert (arguments.verb, arguments.job_ids) == (verb, job_ids)
    assert (arguments.at_once, arguments.drain, arguments.keep_running) == (False, False, False)


def test_how_it_is_asked() -> None:
    assert asked("-s", "one", "--keep-running", "--savepoint-name", "x").savepoint_name == "x"
    assert asked("-s", "one", "--keep-running").keep_running
    assert asked("--drain", "--savepoint", "one").drain
    assert asked("--cancel-job", "one", "-f").at_once
    assert asked("--metrics", "one", "--open-metrics").open_metrics
    assert not asked("--metrics", "one").open_metrics
    assert "write --metrics JOB_ID --open-metrics" in refusal("-l", "--open-metrics")


OF_CLUSTERS = "-cn --cluster"


@pytest.mark.parametrize("flag", OF_CLUSTERS.split())
def test_what_belongs_to_a_cluster_is_refused_and_never_ignored(flag: str) -> None:
    assert refusal("-c", "j", flag).startswith(f"{flag} is not available here: ")
    assert refusal(f"{flag}=1", "-c", "j").startswith(f"{flag} is not available here: ")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-c", "j", "--hlep"], "did you mean --help?"),
        (["-c", "j", "--restor", "1"], "did you mean --restore?"),
        (["-c", "j", "--zzz"], "Unknown option --zzz. See"),
        (["ini", "d"], "did you mean init?"),
        (["-c", "j", "extra"], "Unknown command 'extra'"),
        ([], "--config FILE. To create an example job: seatunnel init DIR"),
        (["run", "j"], "There is no command 'run': to run a job, use seatunnel -c FILE"),
        (["--check"], "--config FILE"),
        (["-c"], "expected one argument"),
        (["-c", "j", "-m", "local", "-m", "cluster"], "use -m spark://HOST:PORT"),
        (["-c", "j", "-m", "sc://host"], "no job tags"),
        (["-c", "j", "-m", "yarn"], "expected local"),
        (["-c", "j", "-m", "local[0]"], "N of at least 1"),
        (["-c", "j", "-m", "local[two]"], "N of at least 1"),
        (["-c", "j", "--set-job-id", "a/b"], "use 1 to 128 characters from"),
        (["-c", "j", "-r", "../x"], "use 1 to 128 characters from"),
        (["-c", "j", "-i", "x"], "-i day=2026-01-31"),
        (["-c", "j", "-i", "=x"], "-i day=2026-01-31"),
        (["-c", "j", "--log-level", "loud"], "expected one of DEBUG"),
        (["-c", "j", "--log-format", "xml"], "'text', 'json'"),
        (["-c", "j", "-Dfoo=1"], "-DJvmOption="),
        (["-c", "j", "-r", "1", "--set-job-id", "2"], "not allowed with"),
        (["init"], "required: DIR"),
        (["-s"], "expected 1 argument"),
        (["-s", "a/b"], "use 1 to 128 characters from"),
        (["-l", "-s", "one"], "not allowed with"),
        (["--drain"], "write -s JOB_ID -"),
        (["-l", "-f"], "write -can JOB_ID -"),
        (["-c", "j", "--savepoint-name", "x"], "write -s JOB_ID -"),
        (["-s", "one", "--drain", "--keep-running"], "not allowed with"),
        (["-c", "j", "-l"], "remove --config"),
        (["-l", "--check"], "--check has an effect only when a job starts, not on a running job: remove it"),
        (["-s", "1", "-i", "a=1"], "--variable has an effect only when a job starts"),
        (["-can", "1", "--engine-config", "e"], "--engine-config has an effect only when a job starts"),
        (["plugins", "x"], "Unrecognized"),
    ],
)
def test_each_mistake_gets_one_message_that_can_be_acted_on(argv: list[str], says: str) -> None:
    assert says in refusal(*argv)


@pytest.mark.parametrize(("argv", "says"), [(["--help"], "exactly once"), (["--version"], "seatunnel-core 1")])
def test_help_and_version_end_with_0(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parse(argv, version="1")
    assert left.value.code == 0
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [[], ["checkpoints"], ["checkpoints", "copy"], ["state"], ["init"], ["help"], ["plugins"]], ids=" ".join
)
def test_help_fits_a_terminal_of_40_columns(
    argv: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The description, the other commands and the examples stood in lines of any width."""
    monkeypatch.setenv("COLUMNS", "40")
    with pytest.raises(SystemExit):
        parse_checkpoints([*argv[1:], "--help"]) if "checkpoints" in argv else parse([*argv, "--help"], version="1")
    lines = capsys.readouterr().out.splitlines()
    one_word = ("usage: ", "       ", "  -")  # commands to be copied, and the flags of one option
    assert [line for line in lines if len(line) > 40 and not line.startswith(one_word)] == []


def test_every_subcommand_stands_in_the_usage_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """``seatunnel state`` did not."""
    with pytest.raises(SystemExit):
        parse(["--help"], version="1")
    usage = capsys.readouterr().out.partition("\n\n")[0]
    assert [name for name in SUBCOMMANDS if f"seatunnel {name}" not in usage] == []


def test_a_job_file_alone_is_answered_with_the_option_for_it(tmp_path: Path) -> None:
    job = tmp_path / "my job.conf"
    job.write_text("")
    with pytest.raises(UsageError, match=r"use seatunnel -c '.*my job\.conf'$"):
        parse([str(job)], "1")


@pytest.mark.parametrize(
    ("word", "meant"), [("check", "--check"), ("chekpoints", "checkpoints"), ("encrypt", "--encrypt")]
)
def test_a_word_that_is_no_command_is_answered_with_what_is_near(word: str, meant: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse([word, "x"], "1")
    assert str(raised.value) == f"Unknown command {word!r}; did you mean {meant}? See: seatunnel --help"
