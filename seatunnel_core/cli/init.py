"""``seatunnel init DIR``: creates a ``SEATUNNEL_HOME`` folder with configuration, two templates and a first job."""

import shlex
import sys
from importlib.resources import files
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.resume import program
from seatunnel_core.control.signing import SECRET_FILE, write_secret
from seatunnel_core.errors import UsageError

_SECRET = f"config/{SECRET_FILE}"
_MODE_OF_CLUSTER = (
    "    mode: cluster                            # default of seatunnel.sh without -m: submit to the cluster\n"
)


@frozen
class _File:
    path: str
    text: str
    executable: bool = False


def init(folder: Path, *, cluster: bool = False) -> None:
    """Write the initial files into a folder without overwriting any, and print the next commands.

    ``cluster`` adds scripts that start and stop nodes, and makes ``seatunnel.sh`` use the cluster.
    """
    home = folder.absolute()
    if home.is_file():
        raise UsageError(f"{folder} is a file: choose a folder, which is created if missing")
    written = [*_files(home, cluster=cluster), *(_files_of_cluster() if cluster else ())]
    names = [*(file.path for file in written), *([_SECRET] if cluster else [])]
    there = [name for name in names if (home / name).exists()]
    if there:
        raise UsageError(f"{folder} already contains {', '.join(there)}; nothing was written. Choose another folder.")
    try:
        for file in written:
            _write(home / file.path, file)
        if cluster:
            write_secret(home / _SECRET)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}: {error.filename}") from error
    print(f"Wrote into {folder}:")
    for name in names:
        print(f"  {name}")
    if cluster:
        _print_cluster(folder)
        return
    first = ["-c", str(folder / "jobs/first.conf"), "--engine-config", str(folder / "config/seatunnel.yaml")]
    print(f"\nRun the first job:\n  {shlex.join([*program(), *first])}")
    print(f"\nOr use the folder as SeaTunnel's home:\n  export SEATUNNEL_HOME={shlex.quote(str(home))}")
    print("  $SEATUNNEL_HOME/bin/seatunnel.sh --config $SEATUNNEL_HOME/config/v2.batch.config.template")


def _print_cluster(folder: Path) -> None:
    bin = folder / "bin"
    print("\nStart a node, run the first job on it, and stop it:")
    print(f"  {shlex.join([str(bin / 'seatunnel-cluster.sh'), '-d'])}")
    print(f"  {shlex.join([str(bin / 'seatunnel.sh'), '-c', str(folder / 'jobs/first.conf')])}")
    print(f"  {shlex.join([str(bin / 'stop-seatunnel-cluster.sh')])}")
    print(
        f"\nCopy this folder to the other machines, with {_SECRET} in mode 600: anyone with this secret can run jobs."
    )


def _files_of_cluster() -> list[_File]:
    python = {"${python}": shlex.quote(sys.executable)}
    configured = ("hazelcast.yaml", "hazelcast-master.yaml", "hazelcast-worker.yaml", "hazelcast-client.yaml")
    return [
        *(_File(f"config/{name}", _template(f"config/{name}", {})) for name in (*configured, "jvm_options")),
        *(
            _File(f"bin/{name}", _template(f"bin/{name}", python), True)
            for name in ("seatunnel-cluster.sh", "stop-seatunnel-cluster.sh")
        ),
    ]


def _files(home: Path, *, cluster: bool) -> list[_File]:
    checkpoints = {"${checkpoints}": _quoted(home / "checkpoints"), "${mode}": _MODE_OF_CLUSTER if cluster else ""}
    places = {"${jobs}": _quoted(home / "jobs"), "${output}": _quoted(home / "output")}
    return [
        _File("config/seatunnel.yaml", _template("config/seatunnel.yaml", checkpoints)),
        _File("config/v2.batch.config.template", _template("config/v2.batch.config.template", {})),
        _File("config/v2.streaming.conf.template", _template("config/v2.streaming.conf.template", {})),
        _File("jobs/first.conf", _template("jobs/first.conf", places)),
        _File("jobs/cities.csv", _template("jobs/cities.csv", {})),
        _File("bin/seatunnel.sh", _template("bin/seatunnel.sh", {"${python}": shlex.quote(sys.executable)}), True),
    ]


def _template(path: str, values: dict[str, str]) -> str:
    text = files("seatunnel_core.cli").joinpath("templates", path).read_text(encoding="utf-8")
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _quoted(path: Path) -> str:
    """Escape a path for double quotes in HOCON and YAML."""
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def _write(path: Path, file: _File) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(file.text, encoding="utf-8")
    if file.executable:
        path.chmod(0o755)
