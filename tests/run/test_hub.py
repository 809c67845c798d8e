"""Pushing and pulling, against a stand-in for the Hub: a folder."""

import shutil
import sys
from types import SimpleNamespace

import pytest

from retro_agents.run.agents import shipped
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.hub import main

PRETRAINED = shipped("rainbow")


class UnsentError(Exception):
    """What the Hub's library raises without a network."""


@pytest.fixture
def hub(tmp_path, monkeypatch):
    root = tmp_path / "hub"

    class Api:
        def create_repo(self, name, *, exist_ok):
            (root / name).mkdir(parents=True, exist_ok=exist_ok)

        def upload_folder(self, *, repo_id, folder_path):
            return str(shutil.copytree(folder_path, root / repo_id, dirs_exist_ok=True))

    def download(name, *, local_dir):
        if name == "me/away":
            raise UnsentError("Name or service not known")
        if not (root / name).is_dir():
            raise ValueError(f"no repository {name}\nfurther words")
        if name == "me/cut" and not local_dir.exists():
            local_dir.mkdir()
            raise UnsentError("cut off")
        shutil.copytree(root / name, local_dir, dirs_exist_ok=True)

    module = SimpleNamespace(HfApi=Api, snapshot_download=download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    errors = SimpleNamespace(HTTPError=UnsentError)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return root


def test_a_pushed_agent_is_pulled_with_its_card_and_film(hub, tmp_path, capsys):
    film = tmp_path / "any.mp4"
    film.write_bytes(b"film")
    main(["push", str(PRETRAINED), "me/fox", "--film", str(film)])
    card = (hub / "me/fox/README.md").read_text()
    assert card.startswith("---\nlibrary_name: retro-contest-agents\n") and "film.mp4" in card
    assert "pull me/fox FOLDER" in card and "n_step:" in card
    main(["pull", "me/fox", str(tmp_path / "pulled")])
    assert load_agent(tmp_path / "pulled").config == load_agent("rainbow").config
    assert (tmp_path / "pulled/film.mp4").read_bytes() == b"film"


@pytest.mark.usefixtures("hub")
def test_a_pull_that_was_cut_off_goes_on(tmp_path):
    main(["push", str(PRETRAINED), "me/cut"])
    command = ["pull", "me/cut", str(tmp_path / "pulled")]
    with pytest.raises(SystemExit):
        main(command)
    assert not (tmp_path / "pulled").exists()
    main(command)
    assert load_agent(tmp_path / "pulled").config == load_agent("rainbow").config


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["push", "nowhere", "me/fox"], "no checkpoint at nowhere"),
        (["push", str(PRETRAINED), "me/fox", "--film", "no.mp4"], "no film no.mp4"),
        (["pull", "me/none", "new"], "the Hub: no repository me/none"),
        (["pull", "me/away", "new"], "the Hub: Name or service not known"),
        (["pull", "me/fox", "."], "already exists"),
    ],
)
def test_mistakes_are_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line
