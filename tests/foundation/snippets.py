"""The snippets of the documentation: every fenced block of every page, and the commands that stand in the text; and how
a job that is shown is planned where the servers that it names are not there.

A page that is new is covered by itself, because pages are found by their folder.
"""

import re
import shlex
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest
from attrs import frozen

from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import JobError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.planning.schemas import planned_schemas, refuse_sinks
from seatunnel_core.registry import lookup

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("plugins/*/README.md")),
]
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:\.venv/bin/)?(?:seatunnel|make|pip|python -m) [^`]+)`")
_PLACEHOLDER = re.compile(r"…|\$\{?\w+\}?")


@frozen
class Snippet:
    """A fenced block."""

    page: str
    """Below the project's root."""

    line: int
    language: str
    text: str
    file: str
    """Which the line above says that it is to be saved as; empty if none does."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def snippets(*languages: str) -> tuple[Snippet, ...]:
    """Those in these languages, or all."""
    if not languages:
        return tuple(each for page in PAGES for each in _of_page(page))
    return tuple(each for each in snippets() if each.language in languages)


def _of_page(page: Path) -> Iterator[Snippet]:
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        above = text[: match.start()]
        named = re.search(r"`([\w./-]+)`:\n\n$", above)
        yield Snippet(
            page=str(page.relative_to(ROOT)),
            line=above.count("\n") + 1,
            language=match[2],
            text=textwrap.dedent(match[3]),
            file=named[1] if named else "",
        )


def typed() -> Iterator[tuple[str, list[str]]]:
    """Every command in a block that is typed into a shell, in words: where it stands, and what it is."""
    for block in snippets("shell", "sh", "console"):
        for line in block.text.splitlines():
            if block.language == "console":  # a transcript: what stands behind a prompt was typed
                if not line.startswith("$ "):
                    continue
                line = line.removeprefix("$ ")
            for words in _commands(line):
                yield f"{block.place}: {shlex.join(words)}", words


def mentioned() -> dict[str, list[str]]:
    """Every command that a text names between backticks, by the first place that does; it need not be complete."""
    found: dict[str, tuple[str, list[str]]] = {}
    for page in PAGES:
        text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
        for line in _INLINE.findall(text.replace("\n", " ")):
            for words in _commands(line):
                found.setdefault(shlex.join(words), (str(page.relative_to(ROOT)), words))
    return {f"{place}: {command}": words for command, (place, words) in found.items()}


def _commands(line: str) -> Iterator[list[str]]:
    """The commands of a line, without their redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    while words:
        command = list(takewhile(lambda word: word not in ("&&", ";", "|"), words))
        words = words[len(command) + 1 :]
        if command:
            yield list(takewhile(lambda word: word not in (">", ">>", "<"), command))


def given(words: list[str]) -> list[str]:
    """With something in the place of what a reader fills in."""
    return [_PLACEHOLDER.sub("x", word) for word in words]


# -- jobs that name servers ----------------------------------------------------------------------------------------

_SERVER = re.compile(
    r"\b(FtpFile|HdfsFile|Kafka|OssFile|Redis|S3File|SftpFile|Slack|LLM|Embedding) *\{|jdbc:(postgresql|mysql)://"
    r'|\bur[il] *= *"https?://'
)


def names_a_server(job: str) -> bool:
    """Whether it reads or writes where nobody is: there is no such server."""
    return _SERVER.search(job) is not None


def plan_only(job: str, name: str = "job.conf", engine: EngineConfig | None = None) -> PlannedJob:
    """The job as one that goes on, whose input is not looked at; without a warning, or the test fails."""
    problems = Problems(strict=True)
    raw = read_job(parse(job, name, Variables({"password": "x", "PASSWORD": "x"}, {}), problems), name, problems)
    engine = engine or load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET"):
            patch.setenv(name, "x")
        planned = plan_job(raw, lookup, engine, manifest=Manifest(job_name="job"))
    for pipeline in planned.pipelines:
        refuse_sinks(pipeline, planned_schemas(pipeline, problems), problems)
    problems.raise_errors(JobError)
    assert list(planned.warnings) == []
    return planned
