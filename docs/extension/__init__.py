"""What the site's pages have beyond their own text: parts made from the code and the results.

Pages include the parts by `{include} …/generated/NAME.md` or show them as images.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from extension import (
    architecture,
    charts,
    checks,
    commands,
    docstrings,
    links,
    mistakes,
    parameters,
)

MOVED = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=README.html">
<title>Moved</title>
<p><a href="README.html">The page is here.</a></p>
"""
UNKNOWN = """<!doctype html>
<meta charset="utf-8">
<title>No such page</title>
<p>This site has no such page. <a href="{start}">Go to its start</a>, or
<a href="{start}search.html">search it</a>.</p>
"""


def parts() -> dict[str, Callable[[], str]]:
    """File name in docs/generated -> what writes its text."""
    modules = (parameters, commands, architecture, charts, mistakes)
    return {name: make for module in modules for name, make in module.parts().items()}


def generate(app: Any) -> None:
    """Write all parts; one that did not change keeps its time, so its pages are not built anew."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, make in parts().items():
        path, text = folder / name, make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def stage(app: Any) -> None:
    """Copy pages of other folders to where Sphinx looks for them."""
    docs = Path(app.srcdir)
    for copy, folder in links.STAGED.items():
        shutil.rmtree(docs / copy, ignore_errors=True)  # with the pages that are gone
        for path in (docs.parent / folder).glob("*.*"):
            if path.suffix in (".md", ".png"):
                (docs / copy).mkdir(exist_ok=True)
                shutil.copy2(path, docs / copy)


def play(app: Any, error: Exception | None) -> None:
    """Add the page to play on, with a link to the site, if that is built with the tag `play`."""
    folder = Path(app.outdir) / "play"
    shutil.rmtree(folder, ignore_errors=True)
    if error is None and app.tags.has("play"):
        shutil.copytree(Path(app.srcdir).parent / "web/dist", folder)
        page = folder / "index.html"
        foot, name = "<footer>", app.config.project
        link = f'{foot}<a href="../index.html">{name}: documentation</a>'
        page.write_text(page.read_text("utf-8").replace(foot + name, link), "utf-8")


def ways(app: Any, error: Exception | None) -> None:
    """Lead from the address of a folder whose page is its README to that page, and from an unknown
    address to the start, for which GitHub's workflows name the repository."""
    out = Path(app.outdir)
    for page in out.glob("*/README.html") if error is None else []:
        page.with_name("index.html").write_text(MOVED, encoding="utf-8")
    name = os.environ.get("GITHUB_REPOSITORY", "").rpartition("/")[2]
    if error is None and app.builder.name == "html":
        text = UNKNOWN.format(start=f"/{name}/" if name else "/")
        (out / "404.html").write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", generate)
    app.connect("builder-inited", stage)
    app.connect("env-get-outdated", lambda *_: ["index"])  # its contents depend on what is there
    app.connect("source-read", links.read)
    app.connect("autodoc-process-docstring", docstrings.as_rst)
    app.connect("autodoc-process-signature", docstrings.without_ranges)
    app.connect("doctree-read", checks.images)
    app.connect("build-finished", play)
    app.connect("build-finished", ways)
    app.connect("build-finished", checks.site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
