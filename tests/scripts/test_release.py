"""What the workflows publish, and what a checkout is."""

import os
import subprocess

import pytest
import yaml

from tests.runs import ROOT

CHANGELOG = """# Changelog
What it is.

## [Unreleased]
- Later.

## [1.10.0] - 2026-12-01
- Newer.

## [1.1.0] - 2026-11-01
### Added
- This.
"""


@pytest.mark.parametrize(
    ("tag", "notes"),
    [("v1.1.0", "### Added\n- This.\n"), ("v1.10.0", "- Newer.\n\n"), ("v1.0.0", "")],
)
def test_a_releases_notes_are_its_section_of_the_changelog(tag, notes, tmp_path):
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    (step,) = (s for s in workflow["jobs"]["wheel"]["steps"] if "Notes" in s.get("name", ""))
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    env = {**os.environ, "GITHUB_REF_NAME": tag}
    made = subprocess.run(["bash", "-ec", step["run"]], cwd=tmp_path, env=env)
    assert (made.returncode == 0) == bool(notes)
    assert (tmp_path / "notes.md").read_text() == notes


def test_a_checkout_has_the_stored_ends_of_lines_on_every_system():
    command = ["git", "check-attr", "text", "--", "scripts/install"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    assert done.stdout.endswith("text: unset\n")
