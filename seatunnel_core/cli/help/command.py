"""Command ``seatunnel help``."""

from seatunnel_core.cli.command import DONE, FAILED
from seatunnel_core.cli.help.arguments import HelpArguments
from seatunnel_core.cli.help.printed import error_text, print_page


def print_requested(arguments: HelpArguments) -> int:
    """Print the requested page and return the exit code. Documentation pages and errors are printed without plugins."""
    if arguments.json_schema:
        from seatunnel_core.cli.help.job_schema import print_job_schema

        print_job_schema()
        return DONE
    if arguments.name is not None and arguments.kind is None and _print_known(arguments.name):
        return DONE
    from seatunnel_core.cli.help.plugin import print_help

    return DONE if print_help(arguments.kind, arguments.name) else FAILED


def _print_known(name: str) -> bool:
    """Print the page with this name, or the error with this code; return True if it exists."""
    if print_page(name):
        return True
    text = error_text(name)
    if text:
        print(text)
    return bool(text)
