"""A private PostgreSQL server for the guide to change data capture: ``server.py start`` and ``server.py stop``.

It uses the programs of the system's package ``postgresql``, keeps its data in one folder, listens on loopback only, and
does not affect other PostgreSQL servers on this machine. If started by root, it runs as the user ``postgres``.
"""

import argparse
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

PORT = 54329
SETTINGS = ("wal_level=logical", "max_replication_slots=4", "max_wal_senders=8", "unix_socket_directories=")


def main() -> None:
    parser = argparse.ArgumentParser(prog="server.py", description=__doc__)
    parser.add_argument("verb", choices=("start", "stop"))
    parser.add_argument("--folder", type=Path, default=Path("/tmp/seatunnel-shop"), help="where its data lies")
    parser.add_argument("--port", type=int, default=PORT)
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    if arguments.verb == "start":
        start(folder, arguments.port)
    else:
        stop(folder)


def start(folder: Path, port: int) -> None:
    """Create the server with the databases ``shop`` and ``copy``."""
    if folder.exists():
        sys.exit(f"{folder} exists: remove it with `server.py stop`, or name another folder")
    password = secrets.token_urlsafe(12)
    folder.mkdir(parents=True)
    (folder / "password").write_text(password, "utf-8")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "password", "postgres")
    made = ["--username=shop", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
    run("initdb", f"--pgdata={folder}/data", f"--pwfile={folder}/password", *made)
    settings = (f"port={port}", "listen_addresses=127.0.0.1", *SETTINGS)
    options = " ".join(f"-c {each}" for each in settings)
    run("pg_ctl", f"--pgdata={folder}/data", f"--log={folder}/log", f"--options={options}", "--wait", "start")
    for database in ("shop", "copy"):
        run("createdb", "--host=127.0.0.1", f"--port={port}", "--username=shop", database, PGPASSWORD=password)
    print(f"PostgreSQL listens on port {port}. For the other programs, type:")
    print(f"export PGPORT={port} PGPASSWORD={password}")


def stop(folder: Path) -> None:
    """Stop the server and remove its data."""
    if (folder / "data").exists():
        run("pg_ctl", f"--pgdata={folder}/data", "--mode=immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


def run(name: str, *arguments: str, **environment: str) -> None:
    """Run a program of the newest installed PostgreSQL version."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: int(each.parent.name))
    on_path = shutil.which(name)
    if not folders and on_path is None:
        sys.exit("PostgreSQL is not installed: apt-get install postgresql")
    program = str(folders[-1] / name) if folders else str(on_path)
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    command = [*user, program, *arguments]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=name != "pg_ctl", text=True, cwd="/", check=False
    )
    if done.returncode != 0:
        sys.exit(f"{name} failed:\n{done.stdout or ''}{done.stderr or ''}")


if __name__ == "__main__":
    main()
