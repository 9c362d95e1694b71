"""Used by mkdocs: makes the README the home page, and sees to it that every link leads somewhere.

Links out of ``docs``, into the clone, become text on the site.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
HOME = "index.md"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the README as the home page."""
    docs = Path(config["docs_dir"])
    files.append(File.generated(config, HOME, content=home(docs.parent / "README.md", docs)))
    return files


def home(readme: Path, docs: Path) -> str:
    """Return the text of the README with its links as they are from the folder ``docs``."""

    def replace(link: re.Match[str]) -> str:
        if _is_address(link[2]):
            return link[0]
        return f"[{link[1]}]({os.path.relpath(readme.parent / link[2], docs)}{link[3] or ''})"

    return _replaced(readme.read_text(encoding="utf-8"), replace)


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    docs = Path(config["docs_dir"]).resolve()
    here = (docs / page.file.src_path).parent

    def replace(link: re.Match[str]) -> str:
        target = link[2]
        if _is_address(target):
            return link[0]
        path = (here / target).resolve()
        if path == docs.parent / "README.md":
            return f"[{link[1]}]({os.path.relpath(docs / HOME, here)}{link[3] or ''})"
        if path.is_file() and path.is_relative_to(docs):
            return link[0]
        if not path.exists():
            raise ValueError(f"{page.file.src_path}: the link to {target} leads nowhere")
        return link[1] if path.is_relative_to(docs) else _text(link[1], str(path.relative_to(docs.parent)))

    return _replaced(markdown, replace)


def _is_address(target: str) -> bool:
    return "://" in target or target.startswith("mailto:")


def _text(words: str, path: str) -> str:
    """Return what stands in the place of a link into the clone: the words, and the path unless they name it."""
    return words if words.strip("`").rstrip("/") == path else f"{words} (`{path}`)"


def _replaced(markdown: str, replace: Callable[[re.Match[str]], str]) -> str:
    """Replace the links of the text, and leave fenced blocks as they are."""
    parts = re.split(r"(^ *```.*?^ *```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else _LINK.sub(replace, part) for index, part in enumerate(parts))
