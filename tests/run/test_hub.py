"""Pushing and pulling, against a stand-in for the Hub: a folder."""

import json
import shutil
import sys
from types import SimpleNamespace

import pytest
import yaml

from retro_agents.run.agents import shipped
from retro_agents.run.checkpoint import file_names, latest_checkpoint, load_agent
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

    def download(name, file, *, local_dir):
        (local_dir / ".cache").mkdir(parents=True, exist_ok=True)
        if name == "me/away":
            raise UnsentError("Name or service not known")
        if name == "me/mute":
            raise UnsentError
        if not (root / name).is_dir():
            raise ValueError(f"no repository {name}\nfurther words")
        shutil.copy(root / name / file, local_dir)

    def download_all(name, *, local_dir, allow_patterns):
        if name == "me/cut" and not (root / "cut").exists():
            (root / "cut").touch()
            raise UnsentError("cut off")
        for path in (root / name).iterdir():
            if any(map(path.match, allow_patterns)):
                shutil.copy(path, local_dir, follow_symlinks=False)

    module = SimpleNamespace(HfApi=Api, hf_hub_download=download, snapshot_download=download_all)
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    errors = SimpleNamespace(HTTPError=UnsentError)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return root


def test_a_pushed_agent_is_pulled_with_its_card_and_film(hub, tmp_path, capsys):
    film = tmp_path / "any.mp4"
    film.write_bytes(b"film")
    scores = [{"label": "all levels", "mean": 1659.1, "low": 1559.1, "high": 1759.1, "episodes": 9}]
    (tmp_path / "result.json").write_text(json.dumps({"agent": "rainbow", "scores": scores}))
    shown = ["--film", str(film), "--result", str(tmp_path / "result.json"), "--licence", "cc0-1.0"]
    main(["push", str(PRETRAINED), "me/fox", *shown])
    card = (hub / "me/fox/README.md").read_text()
    facts = yaml.safe_load(card.split("---\n")[1])
    assert (facts["license"], facts["pipeline_tag"]) == ("cc0-1.0", "reinforcement-learning")
    (one,) = facts["model-index"][0]["results"]
    assert one["metrics"][0]["value"] == "1659 ± 100" and one["dataset"]["name"] == "all levels"
    assert "pull me/fox FOLDER" in card and "n_step:" in card and "replay.mp4" in card
    main(["pull", "me/fox", str(tmp_path / "pulled")])
    assert load_agent(tmp_path / "pulled").config == load_agent("rainbow").config
    assert {path.name for path in (tmp_path / "pulled").iterdir()} == names_of(PRETRAINED)
    assert (hub / "me/fox/replay.mp4").read_bytes() == b"film"


def names_of(checkpoint):
    return set(file_names(latest_checkpoint(checkpoint)))


def test_only_what_a_checkpoint_names_is_pushed_or_pulled(hub, tmp_path):
    """Neither a user's secrets, nor another's code."""
    own = tmp_path / "own"
    shutil.copytree(latest_checkpoint(PRETRAINED), own)
    (own / ".env").write_text("secret")
    (own / "also").symlink_to(own / ".env")
    main(["push", str(own), "me/fox"])
    assert {path.name for path in (hub / "me/fox").iterdir()} == {*names_of(own), "README.md"}
    (hub / "me/fox/__init__.py").write_text("code")
    (hub / "me/fox/agent.py").write_text("code")
    main(["pull", "me/fox", str(tmp_path / "pulled")])
    assert {path.name for path in (tmp_path / "pulled").iterdir()} == names_of(own)


def test_a_card_explains_an_interval_where_it_has_one(hub, tmp_path):
    found = tmp_path / "result.json"
    for ends, said in (({}, "7 of 1 episodes."), ({"low": 4, "high": 9}, "7 ± 3 of 1 episodes (±")):
        found.write_text(json.dumps({"scores": [{"label": "x", "mean": 7, "episodes": 1, **ends}]}))
        main(["push", str(PRETRAINED), "me/fox", "--result", str(found)])
        assert f"mean return {said}" in (hub / "me/fox/README.md").read_text()


@pytest.mark.parametrize("name", ["config.json", "net.safetensors"])
def test_a_link_is_neither_pushed_nor_pulled(name, hub, tmp_path, refused):
    main(["push", str(PRETRAINED), "me/fox"])
    own, other = hub / "me/fox", tmp_path / "other"
    (own / name).rename(other)
    (own / name).symlink_to(other)
    for words in (["push", str(own), "me/two"], ["pull", "me/fox", str(tmp_path / "p")]):
        assert f"{name} cannot be shared" in refused(main, words)


@pytest.mark.parametrize("name", ["net.safetensors", "frames.npy.zst"])
def test_what_is_damaged_is_refused_and_leaves_nothing_to_the_next_pull(
    name, hub, tmp_path, refused
):
    main(["push", str(PRETRAINED), "me/fox"])
    file = hub / "me/fox" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert f"{name} is damaged" in refused(main, ["push", str(file.parent), "me/two"])
    assert not (hub / "me/two").exists()
    pull = ["pull", "me/fox", str(tmp_path / "new" / "pulled")]
    assert f"{name} is damaged" in refused(main, pull)
    assert not list((tmp_path / "new").iterdir())
    file.write_bytes(whole)
    main(pull)


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
        (["push", str(PRETRAINED), "me/fox", "--result", "no.json"], "cannot read no.json"),
        (["push", str(PRETRAINED), "me/fox", "--result", __file__], "cannot read"),
        (["pull", "me/none", "new"], "the Hub: no repository me/none"),
        (["pull", "me/away", "new"], "the Hub: Name or service not known"),
        (["pull", "me/mute", "new"], "the Hub: UnsentError"),
        (["pull", "me/fox", "."], "already exists"),
        (["push", str(PRETRAINED), "me/fox", "--result", "x.json"], "not an evaluation's result"),
        (["fetch", "me/fox", "new"], "invalid choice: 'fetch'"),
        (["pull", "me/fox"], "required: folder"),
    ],
)
def test_mistakes_are_one_line(arguments, words, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text("{}")
    assert words in refused(main, arguments)
    assert not list(tmp_path.glob(".download.*"))
