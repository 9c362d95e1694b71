"""Used by mkdocs: links out of ``docs``, into the clone, become text on the site; they must lead somewhere as well."""

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    docs = Path(config["docs_dir"]).resolve()
    here = (docs / page.file.src_path).parent

    def replace(link: re.Match[str]) -> str:
        target = link[2]
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        path = (here / target).resolve()
        if path.is_file() and path.is_relative_to(docs):
            return link[0]
        if not path.exists():
            raise ValueError(f"{page.file.src_path}: the link to {target} leads nowhere")
        return link[1] if path.is_relative_to(docs) else f"{link[1]} (`{path.relative_to(docs.parent)}`)"

    return _LINK.sub(replace, markdown)
