"""A hook of MkDocs: links from pages of ``docs`` to other files of the repository.

The site has no such files, so that these links lead to the repository.  A file that is not there
is an error of the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """The text of a page with such links replaced."""
    docs = Path(config.docs_dir).resolve()
    source = Path(page.file.abs_src_path).resolve()

    def replaced(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        if target.is_relative_to(docs) and not target.is_relative_to(docs / "examples"):
            return link[0]
        if not target.exists():
            raise PluginError(f"{page.file.src_path}: the link to {link[1]} leads nowhere")
        kind = "tree" if target.is_dir() else "blob"
        path = target.relative_to(docs.parent).as_posix()
        return f"]({config.repo_url}/{kind}/main/{path}{link[2] or ''})"

    return _LINK.sub(replaced, markdown)
