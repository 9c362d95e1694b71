"""Entry point of the command ``seatunnel``, with these exit codes.

::

    0    done                       2    wrong usage or configuration
    1    failed                     130  stopped by the user

Heavy modules are imported only after the arguments are parsed: ``seatunnel --help`` loads neither Spark nor Arrow.
"""

import contextlib
import gc
import io
import os
import sys
import traceback
from collections.abc import Sequence

from seatunnel_core.cli.arguments import RunArguments, ShadeArguments, parse
from seatunnel_core.cli.checkpoints.subcommand import CheckpointsCommand
from seatunnel_core.cli.cluster_arguments import ClusterArguments
from seatunnel_core.cli.command import DONE, FAILED, STOPPED, WRONG_USAGE, Command
from seatunnel_core.cli.control_arguments import ControlArguments
from seatunnel_core.cli.help.arguments import HelpArguments
from seatunnel_core.cli.iceberg.arguments import IcebergArguments
from seatunnel_core.cli.init_arguments import InitArguments
from seatunnel_core.cli.restore_arguments import with_flags
from seatunnel_core.cli.slots.arguments import SlotsArguments
from seatunnel_core.cli.state.arguments import StateArguments
from seatunnel_core.cli.tables.arguments import TablesArguments
from seatunnel_core.cli.terminal.command_line import hide_values, secret_values
from seatunnel_core.cli.terminal.cursor import show_cursor
from seatunnel_core.errors import SeaTunnelError, UsageError

_GARBAGE = (20_000, 20, 20)
"""Thresholds of Python's garbage collector: new objects before a collection, and ratios for older generations. A job
with 1,000 pipelines creates two million long-lived objects, and with the default thresholds, garbage collection took 1
s of its 10 s run time."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. A traceback is printed only for an internal error.

    Without ``argv``, the arguments of this process are used, and the process exits after the command.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may lack letters, and file names may be undecodable
        sys.stdout.reconfigure(errors="backslashreplace")
    code = DONE
    show_cursor()
    if argv is None:
        hide_values(secret_values(sys.argv[1:]))
        gc.set_threshold(*_GARBAGE)
    try:
        if sys.platform == "win32":
            raise UsageError("Windows is not supported; run it in WSL 2 or in a Linux container.")
        code = _dispatch(sys.argv[1:], last=True) if argv is None else _dispatch(argv, last=False)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _complain(with_flags(str(error)), WRONG_USAGE)
    except SeaTunnelError as error:
        return _complain(f"{with_flags(str(error))}\nMore: seatunnel help {error.code}", FAILED)
    except KeyboardInterrupt:
        code = _complain("Stopped.", STOPPED)
        if argv is None:
            os._exit(code)  # Python would wait for threads that are blocked on unresponsive services
        return code
    except OSError as error:
        return _not_written(error, code)
    except Exception as error:
        return _outside_the_tree(error)
    finally:
        if argv is None:
            gc.freeze()  # Python would collect garbage among all imported objects before it exits


def _dispatch(argv: Sequence[str], *, last: bool) -> int:
    return _run(parse(argv, version="" if "--version" not in argv else _version()), last=last)


def _run(command: Command, *, last: bool) -> int:
    """Import the modules of a command, run it and return its exit code."""
    code: int | None = None
    match command:
        case RunArguments(background=True):
            from seatunnel_core.cli.background import run_in_background

            code = run_in_background(command)
        case RunArguments(check=True):
            from seatunnel_core.cli.check import check

            code = check(command)
        case RunArguments():
            from seatunnel_core.cli.run import run

            code = run(command, last=last)
        case ClusterArguments():
            from seatunnel_core.cli.cluster_client import ask_cluster

            code = ask_cluster(command)
        case ControlArguments():
            from seatunnel_core.cli.control import control

            control(command)
        case ShadeArguments():
            from seatunnel_core.cli.shade import shade

            shade(command)
        case _:
            code = _run_subcommand(command)
    return DONE if code is None else code


def _run_subcommand(command: Command) -> int:
    match command:
        case CheckpointsCommand():
            from seatunnel_core.cli.checkpoints.arguments import parse_checkpoints
            from seatunnel_core.cli.checkpoints.command import checkpoints

            return checkpoints(parse_checkpoints(command.argv))
        case StateArguments():
            from seatunnel_core.cli.state.command import state

            return state(command)
        case IcebergArguments():
            from seatunnel_core.cli.iceberg.command import compact

            return compact(command)
        case SlotsArguments():
            from seatunnel_core.cli.slots.command import slots

            return slots(command)
        case TablesArguments():
            from seatunnel_core.cli.tables.command import reread

            return reread(command)
        case InitArguments():
            from seatunnel_core.cli.init import init

            init(command.folder, cluster=command.cluster)
            return DONE
        case HelpArguments():
            from seatunnel_core.cli.help.command import print_requested

            return print_requested(command)
        case _:
            from seatunnel_core.cli.help.plugins import list_plugins

            return DONE if list_plugins() else FAILED


def _version() -> str:
    from importlib.metadata import version

    return version("seatunnel-core")


def _not_written(error: OSError, code: int) -> int:
    from seatunnel_core.cli.output import FULL, give_up_output, reader_left

    if isinstance(error, BrokenPipeError) and reader_left():  # as in `seatunnel plugins | head`: the reader left
        give_up_output()
        return code
    if error.errno in FULL:
        give_up_output()
        where = f" to {error.filename}" if error.filename else ""
        return _complain(
            f"Not all output could be written{where}: {error.strerror}. Free some space, and try again.", FAILED
        )
    return _outside_the_tree(error)


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError):  # the disk of this file may be full, too
        print(message, file=sys.stderr)
    return code


def _outside_the_tree(error: Exception) -> int:
    from seatunnel_storage_api.errors import CheckpointStorageError, StorageUsageError

    if isinstance(error, CheckpointStorageError):
        wrong_usage = isinstance(error, StorageUsageError)  # the message already contains the remedy
        more = "" if wrong_usage else f"\nMore: seatunnel help {error.code}"
        return _complain(f"{error}{more}", WRONG_USAGE if wrong_usage else FAILED)
    traceback.print_exc()
    return _complain(
        f"\nThis is a bug in seatunnel-core {_version()}, not an error in your job. Please report it with the text "
        "above and the job file (without its secrets).",
        FAILED,
    )


if __name__ == "__main__":
    sys.exit(main())
