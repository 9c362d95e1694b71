"""Arguments of ``seatunnel checkpoints``."""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser
from seatunnel_core.cli.declared import add_options, option, read_options, switch
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.reference import StorageReference
from seatunnel_storage_api.state import CheckpointRef

VERBS = {
    "list": "list the jobs of a storage; with -j, the checkpoints of a job",
    "show": "describe the content of a checkpoint",
    "diff": "show the differences between two checkpoints",
    "verify": "read all data, and report damage and restorable checkpoints",
    "export": "export jobs to a file, for transfer or backup",
    "copy": "copy jobs to another storage, or from a file",
    "gc": "find and remove data that is no longer needed",
}

_STORAGES = """\
storage: by default the storage that a job would use. Values of --from and --to:
  FILE.yaml   an engine file, which configures the storage
  FOLDER/     a namespace in local files; must contain a "/"
  FILE.zip    a file that `export` wrote
  TYPE        a storage plugin, with its plugin-config in -p KEY=VALUE (secrets: -p KEY='${VARIABLE}')

exit code: 0 done, 1 damage found or an operation failed, 2 wrong usage or configuration"""

_EXAMPLES = {
    "list": "seatunnel checkpoints list -j 914873026413281280",
    "show": "seatunnel checkpoints show 914873026413281280 2 100000-7",
    "diff": "seatunnel checkpoints diff 914873026413281280 2 100000-6 100000-7",
    "verify": "seatunnel checkpoints verify --from /backup/checkpoints/",
    "export": "seatunnel checkpoints export nightly.zip -j 914873026413281280",
    "copy": "seatunnel checkpoints copy --from localfile -p namespace=/old/ --to config/seatunnel.yaml",
    "gc": "seatunnel checkpoints gc --dry-run --older-than 7d",
}

_AGES = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _age(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text, re.ASCII)
    if found is None or not (found[2] or found[1].strip("0") == ""):
        raise argparse.ArgumentTypeError(f"expected an age such as 90s, 15m, 6h or 7d, or 0, not {text!r}")
    return int(found[1]) * _AGES.get(found[2], 1)


@frozen(kw_only=True)
class CheckpointsArguments(Command):
    """Arguments of ``seatunnel checkpoints VERB …``."""

    verb: str
    storage: StorageReference
    jobs: tuple[str, ...] = option(
        *("-j", "--job-id"), metavar="JOB", action="append", default=[], converter=tuple,
        help="this job only; may be repeated")  # fmt: skip
    """Job IDs; empty for all jobs."""

    pipeline: int | None = None
    refs: tuple[CheckpointRef | int, ...] = ()
    """Checkpoints as ``EPOCH-ID`` or as an ID alone."""

    destination: StorageReference | None = None
    dry_run: bool = switch("--dry-run", help="list the data that would be removed, without removing it")
    older_than_s: float = option(
        "--older-than", metavar="AGE", type=_age, default=86_400,
        help="keep files younger than this age, such as 90s, 15m, 6h or 7d (default: 1d)")  # fmt: skip
    ended_jobs: bool = switch("--ended-jobs", help="also remove all data of jobs recorded as ended")
    targets: tuple[str, ...] = option(
        "--target", metavar="FOLDER", action="append", default=[], converter=tuple,
        help="also search this target for staged files, in addition to those in the manifests")  # fmt: skip
    paths: bool = switch("--paths", help="list every path, not only the number of paths")
    json: bool = switch("--json", help="print JSON; its keys are documented and stable")


def parse_checkpoints(argv: Sequence[str]) -> CheckpointsArguments:
    """Parse the arguments of ``seatunnel checkpoints``. Raises the same errors as ``arguments.parse``."""
    lines = "\n".join(f"  {verb:<8}{text}" for verb, text in VERBS.items())
    parser = Parser(
        prog="seatunnel checkpoints",
        usage="seatunnel checkpoints VERB [options]",
        description=f"Inspects and maintains checkpoint storages. Needs no Spark and no running job.\n\n{lines}",
        epilog=_STORAGES,
        allow_abbrev=False,
    )
    parser.add_argument("verb", metavar="VERB", choices=VERBS, help="subcommand; each has its own --help")
    if not argv:
        raise UsageError(f"Nothing to do: specify one of {', '.join(VERBS)}. See: seatunnel checkpoints --help")
    verb = parser.parse_args(argv[:1]).verb
    values = _verb_parser(verb).parse_args(argv[1:])
    if hasattr(values, "job"):
        values.jobs = [values.job]
    return read_options(
        CheckpointsArguments,
        values,
        verb=verb,
        storage=_storage(values),
        pipeline=getattr(values, "pipeline", None),
        refs=tuple(getattr(values, "refs", ())),
        destination=_destination(values),
    )


def _verb_parser(verb: str) -> Parser:
    parser = Parser(
        prog=f"seatunnel checkpoints {verb}",
        description=f"{VERBS[verb].capitalize()}.",
        epilog=f"example:\n  {_EXAMPLES[verb]}\n\n{_STORAGES}",
        allow_abbrev=False,
    )
    _OWN.get(verb, _jobs)(parser)
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--engine-config", metavar="FILE", type=Path, help="engine file that configures the storage")
    which.add_argument("--from", "--storage", dest="storage", metavar="STORAGE", help="storage; see below")
    add(
        "-p",
        "--property",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=_property,
        help=("property of plugin-config"),
    )
    add("--namespace", metavar="PATH/", help="namespace, which overrides the configured one")
    add_options(parser, CheckpointsArguments, ("json",))
    return parser


def _jobs(parser: Parser) -> None:
    add_options(parser, CheckpointsArguments, ("jobs",))


def _one(parser: Parser, refs: int, help: str) -> None:
    parser.add_argument("job", metavar="JOB", help="the job's id")
    parser.add_argument(
        "pipeline",
        metavar="PIPELINE",
        nargs="?",
        type=_number,
        help=("number of the pipeline; all pipelines by default"),
    )
    parser.add_argument(
        "refs",
        metavar="EPOCH-ID",
        nargs="*",
        default=[],
        type=_ref,
        help=f"{help}; an id alone refers to the newest epoch",
    )
    parser.set_defaults(most_refs=refs)


def _show(parser: Parser) -> None:
    _one(parser, 1, "checkpoint; the latest by default")


def _diff(parser: Parser) -> None:
    _one(
        parser,
        2,
        "an older and a newer checkpoint; by default the last two live checkpoints, or the given checkpoint and the "
        "latest",
    )


def _copy(parser: Parser) -> None:
    _jobs(parser)
    parser.add_argument("--to", metavar="STORAGE", required=True, help="destination storage; see below")
    parser.add_argument(
        "-P", "--to-property", metavar="KEY=VALUE", action="append", default=[], type=_property,
        help="plugin-config of the destination")  # fmt: skip
    parser.add_argument(
        "--to-namespace", metavar="PATH/", help=("namespace of the destination, which overrides the configured one")
    )


def _export(parser: Parser) -> None:
    parser.add_argument("to", metavar="FILE.zip", help="a new file; `copy --from FILE.zip --to STORAGE` imports it")
    _jobs(parser)


def _gc(parser: Parser) -> None:
    add_options(parser, CheckpointsArguments, ("jobs", "dry_run", "older_than_s", "ended_jobs", "targets", "paths"))


_OWN: dict[str, Callable[[Parser], None]] = {
    "show": _show,
    "diff": _diff,
    "copy": _copy,
    "export": _export,
    "gc": _gc,
}


def _storage(values: argparse.Namespace) -> StorageReference:
    if len(getattr(values, "refs", ())) > getattr(values, "most_refs", 2):
        raise UsageError(f"Too many checkpoints: at most {values.most_refs}. See: seatunnel checkpoints --help")
    return StorageReference(
        storage=values.storage,
        engine_file=values.engine_config,
        properties=dict(values.property),
        namespace=values.namespace,
    )


def _destination(values: argparse.Namespace) -> StorageReference | None:
    if not hasattr(values, "to"):
        return None
    if not hasattr(values, "to_property") and not values.to.endswith(".zip"):
        raise UsageError(f"export writes one file: {values.to}.zip; to write into another storage, use copy --to")
    return StorageReference(
        storage=values.to,
        properties=dict(getattr(values, "to_property", ())),
        namespace=getattr(values, "to_namespace", None),
    )


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError("expected KEY=VALUE, for example -p namespace=/checkpoints/")
    return key, value


def _number(text: str) -> int:
    if not re.fullmatch(r"0*[1-9][0-9]{0,5}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"expected the number of a pipeline (1 or higher), not {text!r}")
    return int(text)


def _ref(text: str) -> CheckpointRef | int:
    found = re.fullmatch(r"(?:([0-9]{1,10})-)?([0-9]{1,20})", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected EPOCH-ID, for example 100000-7, or an ID, not {text!r}")
    return int(found[2]) if found[1] is None else CheckpointRef(int(found[1]), int(found[2]))
