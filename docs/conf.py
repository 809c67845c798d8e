"""The site: Sphinx with MyST and Furo. `scripts/docs` builds it."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.modules["gym"] = None  # type: ignore[assignment]  Stable-Baselines3 tries it, and it warns

from retro_agents.ground.results import installed  # noqa: E402

project = "Retro Contest Agents"
author = "Retro Contest Agents developers"
release = version = installed("retro-contest-agents")
copyright = f"{author}; MIT licence"  # noqa: A001  Sphinx's name
html_title = project

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "extension",
]
exclude_patterns = ["generated", "extension", "_static"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_copy_source = False
html_show_sphinx = False
smartquotes = False  # they would join the -- of flags
pygments_style = "friendly"
pygments_dark_style = "monokai"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4

viewcode_follow_imported_members = False
autodoc_member_order = "bysource"
add_module_names = False
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True
autodoc_preserve_defaults = True
