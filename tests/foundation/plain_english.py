"""List candidates of unnatural English in the project's text.

``python tests/foundation/plain_english.py`` prints each finding as ``file:line: rule: text``, ``--count`` the number
for each folder and rule. Arguments restrict it to files or folders. A finding is a candidate: text that is right as it
is goes into `ALLOWED`, with the reason.

It reads documentation, texts and comments of the web page, comments of examples and templates, and the docstrings,
comments and messages of Python files, which ``seatunnel help`` prints. Code, inline code and link targets are skipped,
so quoted messages and option values are never findings.
"""

import json
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
PACKAGES = ("seatunnel_core", "seatunnel_storage_api")
READ = ("README.md", "CONTRIBUTING.md", "docs", "examples", "plugins", *PACKAGES)
"""The files and folders that are read without arguments."""

RULES = {
    "person": r"he|him|his|himself|who|whom|nobody|somebody|someone|anybody",
    "tell": r"tells?|telling|told",
    "archaic": (
        r"anew|thereof|therein|wherein|hereby|as may be|midst|besides|are no more|no [a-z]+ any more"
        r"|of (?:its|their|one's|ours?) own|of it all|such a one|(?:that|which|it|they) (?:is|are) none"
    ),
    "stand": r"(?:stands?|stood|lies|lay) (?:in|on|at|as|by|with|there|here|beside|behind|below|above|before)",
    "come": (
        r"(?:what|which|that|who|rows|it|they) (?:comes?|came|is there|are there|was there|were there|is gone"
        r"|are gone|was gone|has gone)"
    ),
    "phrase": (
        r"hand(?:s|ed)? (?:on|over)|take(?:s|n)? in hand|lets? in|let (?:him|it) in|makes? of it|made of it"
        r"|goes on|go on|went on|gone on|looked at|looks? at|looked for|takes? (?:back|away)"
        r"|side by side|in (?:the|its) place of|in silence|without a word|as it stands|as they stand"
    ),
}
"""By name: a pattern of words that an engineer of this field would not write."""

OPENING = re.compile(r'"""(?:Of|Whether|Who|Whose|What|Which|How|Where|When|That|As|To whom|From whom|Nobody|None)\b')
"""A docstring that does not begin with a verb or a noun."""

ALLOWED = {
    r"(?:anyone|everyone|people|users?|operators?|developers?|a person) who|\bwho wrote\b": (
        "People may be called people."
    ),
    r"tell(?:s|ing)? .{1,30} apart|told apart": "To tell apart is the ordinary verb for it.",
    r"stands? for|stands? still|stood still|stands? by": "An abbreviation stands for a name; a process stands still.",
    r"comes? (?:from|first|last|after|before)": "Origin and order are expressed so.",
    r"gone for good|it is gone": "A lost folder may be gone.",
    r"\| hand on \|": "The glossary defines the name in the code.",
    r"on its own|on their own|on your own": "Ordinary English, unlike 'of its own'.",
}
"""By pattern of the words around a finding: why it is right as it is."""

_WORDS = re.compile(rf"\b(?:{'|'.join(f'(?P<{name}>{pattern})' for name, pattern in RULES.items())})\b")
_ALLOWED = re.compile("|".join(ALLOWED), re.IGNORECASE)
_STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_TEXT = {
    ".py": re.compile(rf'"""(?:\\.|[^\\])*?"""|{_STRING}|#[^\n]*'),
    ".js": re.compile(rf"//[^\n]*|/\*.*?\*/|`(?:\\.|[^`\\])*`|{_STRING}", re.DOTALL),
    ".html": re.compile(r">[^<]+<|<!--.*?-->", re.DOTALL),
    ".sh": re.compile(r"(?:^|(?<=\s))#[^\n]*"),
    ".conf": re.compile(r"(?:^|(?<=\s))(?:#|//)[^\n]*"),
}
"""By suffix: where a file has text, in place of code."""

_SUFFIXES = {".template": ".conf", ".yaml": ".sh", ".service": ".sh", ".timer": ".sh", ".crontab": ".sh", "": ".sh"}
_MARKUP = re.compile(r"^( *)```.*?^\1```|<!--.*?-->|``[^`]+``|`[^`]+`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"``[^`]+``|`[^`\n]+`")
_UNREAD = {"vendor", "__pycache__"}


@frozen
class Finding:
    """A place that may be unnatural English."""

    path: str
    line: int
    rule: str
    text: str

    @property
    def folder(self) -> str:
        """The first two parts of the path; one for a file at the root."""
        parts = self.path.split("/")
        return "/".join(parts[: 2 if len(parts) > 2 else 1])

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


def findings(path: Path, source: str | None = None) -> Iterator[Finding]:
    """Yield the findings of a file; `source` is its text, if it is not to be read."""
    source = path.read_text(encoding="utf-8") if source is None else source
    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    text = prose(path.suffix, source)
    lines = [match.start() for match in re.finditer("\n", text)]
    hits = [(*match.span(), match.lastgroup or "") for match in _WORDS.finditer(text.lower())]
    if path.suffix == ".py":
        hits += [(*match.span(), "opening") for match in OPENING.finditer(text)]
    for start, stop, rule in sorted(hits):
        if rule != "opening" and any(
            match.start() < stop and start < match.end()
            for match in _ALLOWED.finditer(text, max(0, start - 40), start + 60)
        ):
            continue
        line = bisect_right(lines, start - 1)
        begin, end = ([-1, *lines][line], ([*lines, len(text)])[line])
        yield Finding(path=name, line=line + 1, rule=rule, text=text[begin + 1 : end].strip()[:140])


def prose(suffix: str, source: str) -> str:
    """Return the text of a file with blanks in place of code, so that positions stay."""
    if suffix == ".md":
        return _MARKUP.sub(_blank, source)
    if suffix == ".ipynb":
        cells = json.loads(source)["cells"]
        return _MARKUP.sub(
            _blank, "\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "markdown")
        )
    kept, end = [], 0
    for match in _TEXT[_SUFFIXES.get(suffix, suffix)].finditer(source):
        quoted = match[0] if suffix == ".js" else _CODE.sub(_blank, match[0])
        kept += [_blanks(source[end : match.start()]), quoted]
        end = match.end()
    return "".join([*kept, _blanks(source[end:])])


def _blank(match: re.Match[str]) -> str:
    return _blanks(match[0])


def _blanks(text: str) -> str:
    return "\n".join([" " * len(line) for line in text.split("\n")])


def files(names: Iterable[str] = READ) -> Iterator[Path]:
    """Yield the files with text, below folders and by name."""
    for name in names:
        path = ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            known = file.suffix in {".md", ".ipynb", *_TEXT, *_SUFFIXES}
            if known and file.is_file() and not _UNREAD & set(file.parts) and not file.name.startswith("."):
                yield file


def main(arguments: list[str]) -> None:
    """Print findings, or with ``--count`` their number for each folder and rule."""
    named = [each for each in arguments if not each.startswith("-")]
    found = [each for file in files(named or READ) for each in findings(file)]
    if "--count" not in arguments:
        print(*found, sep="\n")
    for what in ("folder", "rule"):
        for name, count in sorted(Counter(getattr(each, what) for each in found).items()):
            print(f"{count:6} {name}")
    print(f"{len(found):6} in total")


if __name__ == "__main__":
    main(sys.argv[1:])
