"""Links in Markdown name files of the repository, so that they work there too; on the site a link
to a folder's README leads to the page on that folder, and one to a note to the note's page."""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from retro_agents.run.agents import AGENTS

PAGES = {
    "README.md": "index.md",
    "retro_agents/studio/README.md": "studio.md",
    "CONTRIBUTING.md": "contribute/index.md",
    **{f"{name}/README.md": f"agents/{name}.md" for name in (*AGENTS, "lsh_memory")},
    "retro_agents/README.md": "contribute/architecture.md",
    "retro_agents/contract/README.md": "reference/contract.md",
    "retro_agents/ground/README.md": "contribute/architecture.md",
    "retro_agents/judging/README.md": "reference/evaluation.md",
    "retro_agents/nets/README.md": "reference/nets.md",
    "retro_agents/run/README.md": "reference/runs.md",
    "retro_agents/experience/README.md": "reference/experience.md",
    "retro_agents/sweeps/README.md": "reference/sweeps.md",
    "retro_agents/contest/README.md": "contest/index.md",
    "retro_agents/contest/match/README.md": "contest/index.md",
    "retro_agents/contest/wire/README.md": "reference/protocol.md",
    "retro_agents/games/retro/README.md": "environments/retro.md",
    "retro_agents/games/procgen/README.md": "environments/procgen.md",
    "cartridge/README.md": "environments/bramble.md",
    "cartridge/host/README.md": "environments/native.md",
    "cartridge/levels/README.md": "environments/generator.md",
    "cartridge/levels/art/README.md": "environments/generator.md",
    "cartridge/src/README.md": "environments/engine.md",
    "docker-build/README.md": "contest/images.md",
    "lab/README.md": "contribute/measuring.md",
    "lab/studies/README.md": "contribute/measuring.md",
    "lab/benchmarks/README.md": "contribute/benchmarks.md",
    "web/README.md": "web.md",
}
"""README -> the page that says more."""
STAGED = {"notebook": "lab/notebook", "leaderboard": "leaderboard"}
"""Folder in docs -> the folder whose pages are copied there for a build."""
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def page_on(folder: str) -> str:
    """The page on a folder, or on the nearest one around it that has a page."""
    around = (folder, *(path.as_posix() for path in PurePosixPath(folder).parents))
    found = (PAGES.get(f"{one}/README.md") for one in around)
    return next(filter(None, found), "contribute/architecture.md")


def staged_copy(file: str) -> str:
    """Where a build finds the copy of a page; "" if it is not copied."""
    for copy, folder in STAGED.items():
        if file.startswith(f"{folder}/") and file.endswith((".md", ".png")):
            return copy + file.removeprefix(folder)
    return ""


def read(app: Any, name: str, source: list[str]) -> None:
    """Turn a page's links to files of the repository into links between pages."""
    docs = Path(app.srcdir)
    root = docs.parent
    shown = (docs / name).parent
    staged = STAGED.get(shown.relative_to(docs).as_posix())
    here = root / staged if staged else shown

    def turned(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(here / match[2]))
        inside = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
        if inside in PAGES:
            path = docs / PAGES[inside]
        elif path.is_dir():
            path = docs / page_on(inside)
        elif copy := staged_copy(inside):
            path = docs / copy
        elif here == shown:
            return match[0]
        return f"{match[1]}{os.path.relpath(path, shown)}{match[3] or ''}"

    source[0] = LINK.sub(turned, source[0])
    if name == "notebook/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n:reversed:\n\n20*\n```\n"
    elif name == "leaderboard/README":
        source[0] += "\n```{toctree}\n:hidden:\n\npage\n```\n"
    elif name == "index" and (docs / "leaderboard").is_dir():
        source[0] = source[0].replace(
            "contribute/index\n```", "leaderboard/README\ncontribute/index\n```"
        )
