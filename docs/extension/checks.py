"""What must hold of the built site: links lead somewhere, images have texts, the search finds."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.search.en import SearchEnglish
from sphinx.util import logging

WORDS = ("sticky", "resume", "ROM")
"""What the search must find."""


def images(app: Any, doctree: nodes.document) -> None:
    """Warn of every image without a text."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            logging.getLogger(__name__).warning("%s has no text", image["uri"], location=image)


def site(app: Any, error: Exception | None) -> None:
    """Raises SphinxError with all that is wrong with the pages."""
    if error is None and app.builder.name == "html":
        out = Path(app.outdir)
        if wrong := dead_links(out) + not_found(out):
            raise SphinxError("\n".join(wrong))


class Page(HTMLParser):
    """links: what the page leads to or shows. ids: its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def dead_links(out: Path) -> list[str]:
    """One line for each link between pages, or to a file, that leads nowhere. Pages of source code
    lack the anchors of properties, so their anchors are not asked for."""
    paths = [path for path in out.rglob("*.html") if "play" not in path.relative_to(out).parts[:1]]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    wrong = []
    for path, page in pages.items():
        for link in set(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if "_modules" in parts.path:
                anchor = ""
            if not target.is_file() or (
                anchor and target in pages and anchor not in pages[target].ids
            ):
                wrong.append(f"{path.relative_to(out)}: {link} leads nowhere")
    return sorted(wrong)


def not_found(out: Path) -> list[str]:
    """One line for each of WORDS that no page has in the index of the search."""
    text = (out / "searchindex.js").read_text(encoding="utf-8")
    match = re.fullmatch(r"Search\.setIndex\((.*)\)", text.strip(), re.DOTALL)
    assert match
    terms = json.loads(match[1])["terms"]
    stem = SearchEnglish({}).stem
    return [
        f"the search does not find {word!r}" for word in WORDS if stem(word.lower()) not in terms
    ]
