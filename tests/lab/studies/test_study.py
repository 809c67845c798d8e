"""Studies are data: what their tables say is what their trainers take."""

import importlib
from typing import Any

import msgspec
import pytest

from lab.studies.plans import names, read
from lab.studies.play import PlayConfig
from retro_agents.ground.errors import UserError
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import flat, to_dict
from retro_agents.sweeps.study import REFERENCE, Study, cells, chosen, made_with, needed, needs

EVERY = [(name, kind) for name in names() for kind in read(name).kinds]
PARSERS = {
    "lab.benchmarks.sb3_ppo": "ppo2.train",
}
"""Modules that take another's flags."""


def parsed(study: Study, kind: str) -> dict[str, Any]:
    """The settings that a kind's module makes of its flags."""
    found = study.kinds[kind]
    words = [REFERENCE.sub("some", word) for word in found.words]
    if found.run == "lab.studies.play":
        return to_dict(parse_command(PlayConfig, words, command="play"))
    module = importlib.import_module(PARSERS.get(found.run, found.run))
    return flat(to_dict(module.parse(words)))


@pytest.mark.parametrize(("name", "kind"), EVERY, ids=lambda text: text)
def test_every_kind_has_flags_that_its_module_takes(name: str, kind: str) -> None:
    study = read(name)
    assert parsed(study, kind)
    assert importlib.util.find_spec(study.kinds[kind].run) is not None
    if before := needs(study, kind):
        assert all(needed(study, cells(study, kind)[0], other) for other in before)


def test_both_ppos_have_the_same_flags_on_a_level() -> None:
    kinds = read("ppo2").kinds
    assert kinds["adapt/scratch"].words == kinds["adapt/sb3-scratch"].words
    assert kinds["adapt/joint"].words[:-1] == kinds["adapt/sb3-joint"].words[:-1]


def test_pretrained_nets_fit_the_agents_that_start_from_them() -> None:
    study = read("ppo2")
    joint, adapting, rainbow = (
        parsed(study, name) for name in ("pretraining/joint", "adapt/joint", "rainbow/encoder")
    )
    assert all(adapting[name] == joint[name] for name in ("encoder", "hidden"))
    assert rainbow["encoder"] == joint["encoder"]


def test_cells_come_seed_by_seed_and_know_what_they_build_on(study: Study) -> None:
    acts = ("RustCavern.Act2", "SkyIsles.Act2")
    names = [f"group/after/{act}-{seed}" for seed in (0, 1) for act in acts]
    assert [cell.name for cell in cells(study, "group/after")] == names
    (before,) = cells(study, "before")
    last = cells(study, "group/curved")[-1]
    assert before.name == "before/all-0"
    assert needed(study, last, "before") == before
    assert needed(study, last, "group/plain").name == "group/plain/SkyIsles.Act2-1"


def test_kinds_are_chosen_by_name_or_group(study: Study) -> None:
    assert chosen(study, ["group"]) == ["group/plain", "group/after", "group/curved"]
    assert chosen(study, ["group/after", "before"]) == ["before", "group/after"]
    assert chosen(study, [""]) == list(study.kinds)
    assert chosen(study, []) == []
    with pytest.raises(UserError, match=r"no kind 'group/aftr'; did you mean 'group/after'\?"):
        chosen(study, ["group/aftr"])


def test_runs_are_told_apart_by_settings_inputs_and_roms_but_not_by_their_place(
    study: Study,
) -> None:
    cell = cells(study, "group/after")[0]
    made = made_with(study, cell)
    assert made["flags"] == "--init <before>/x --b runs"
    assert len(made["roms"]["BrambleDash-Genesis-v0"]) == 40
    assert made_with(msgspec.structs.replace(study, inputs={"start": "else"}), cell) != made
    assert made_with(msgspec.structs.replace(study, steps=21), cell) != made


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot read study"),
        ("kinds: {ä: {}}".encode("latin-1"), "cannot read study"),
        ("kinds: {a: {rum: x}}", "unknown field `rum` - at `.*kinds"),
        ("kind: {}", "unknown field `kind`"),
        ("kinds: {a: {flags: --init <b>}}", "no kind or input 'b'"),
        ("kinds: {a: {run: x}}\ncompare: [[a, b]]", "no kind or input 'b'"),
    ],
)
def test_what_is_wrong_in_a_study_is_one_line(
    content: str | bytes | None, says: str, tmp_path: Any
) -> None:
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=says) as raised:
        read(str(path))
    assert "\n" not in str(raised.value)


def test_unknown_study_names_the_nearest() -> None:
    with pytest.raises(UserError, match=r"no study 'transfr'; did you mean 'transfer'\?"):
        read("transfr")
