"""What must hold of the built site, which Sphinx does not check: images have texts, the search
finds."""

import json
import re
from pathlib import Path
from typing import Any

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
    """Raises SphinxError if the search lacks a word."""
    if error is not None or app.builder.name != "html":
        return
    if wrong := not_found(Path(app.outdir)):
        raise SphinxError("\n".join(wrong))


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
