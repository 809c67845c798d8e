"""The site's own checks, and the parts that it makes from the code."""

import json
import re
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from tests.house.test_floors import FLOORS
from tests.runs import ROOT

pytest.importorskip("sphinx")


@pytest.fixture(autouse=True)
def _extension(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")


def test_words_that_the_search_lacks_are_found(tmp_path):
    from extension.checks import not_found

    (tmp_path / "searchindex.js").write_text('Search.setIndex({"terms":{"sticki":0,"rom":1}})')
    assert not_found(tmp_path) == ["the search does not find 'resume'"]


def test_a_folders_address_leads_to_its_readme_and_an_unknown_one_to_the_start(
    tmp_path, monkeypatch
):
    from extension import ways

    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "README.html").touch()
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name")
    ways(SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="html")), None)
    assert "url=README.html" in (tmp_path / "results" / "index.html").read_text()
    assert '"/name/search.html"' in (tmp_path / "404.html").read_text()


def test_the_page_to_play_on_links_to_the_site(tmp_path):
    from extension import play

    (tmp_path / "web/dist").mkdir(parents=True)
    page = (ROOT / "web/index.html").read_text()
    (tmp_path / "web/dist/index.html").write_text(page)
    app = SimpleNamespace(
        srcdir=tmp_path / "docs",
        outdir=tmp_path / "out",
        tags=SimpleNamespace(has={"play"}.__contains__),
        config=SimpleNamespace(project="Retro Contest Agents"),
    )
    play(app, None)
    assert '<a href="../index.html">Retro' in (tmp_path / "out/play/index.html").read_text()


def test_a_readme_with_a_page_is_short():
    from extension.links import PAGES

    there = [ROOT / name for name in PAGES if name != "README.md"]
    assert not [path for path in there if len(path.read_text().splitlines()) > 40]


def test_every_readme_has_a_page_or_is_one():
    from extension.links import PAGES, STAGED

    assert not [name for name in PAGES.values() if not (ROOT / "docs" / name).is_file()]
    pages = ("docs/", "docker-build/empty/", *(f"{folder}/" for folder in STAGED.values()))
    without = {name for name in tracked("*README.md") if name not in PAGES}
    assert not [name for name in without if not name.startswith(pages)]


def test_the_picture_has_every_room():
    from extension.architecture import picture

    texts = [e.text for e in ElementTree.fromstring(picture()).iter() if e.tag.endswith("text")]
    assert len(texts) == sum(map(len, FLOORS))


def test_a_preset_that_changes_a_field_is_in_its_row():
    from extension.parameters import parameters

    (row,) = (line for line in parameters("ppo2").splitlines() if line.startswith("| `--gamma` "))
    assert "`0.999`" in row and "| learning |" in row


def tracked(pattern):
    """Files of the checkout with such names."""
    command = ["git", "ls-files", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return listed.stdout.splitlines()


def anchors(path):
    """Anchors of a Markdown file's headings, as GitHub and MyST make them."""
    words = (line.lstrip("# ").lower() for line in path.read_text().splitlines() if line[:1] == "#")
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in words}


def test_links_between_files_lead_somewhere():
    dead = []
    for name in tracked("*.md"):
        if name.startswith("lab/notebook/2") or name.endswith("rom.md"):
            continue  # notes are not changed when what they link to moves
        text = re.sub(r"^```.*?^```", "", (ROOT / name).read_text(), flags=re.M | re.S)
        for link, anchor in re.findall(r"\]\(([^)\s:#]+)(?:#([^)\s]*))?\)", text):
            path = (ROOT / name).parent / link
            if "generated/" in link or "settings.md" in link or (path.exists() and not anchor):
                continue  # what a build makes
            if not path.is_file() or anchor not in anchors(path):
                dead.append(f"{name}: {link}#{anchor}")
    assert not dead


def test_what_is_cited_is_this_version():
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()
    json.loads((ROOT / ".zenodo.json").read_text())
