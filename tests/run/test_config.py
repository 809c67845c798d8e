import dataclasses
import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import env_settings
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Share, check
from retro_agents.run.command_line import load_config, load_run_config
from retro_agents.run.config import from_dict, read_yaml, replaced
from retro_agents.run.fields import field, learning
from retro_agents.run.folder import RunFolder
from retro_agents.run.settings import RunSettings


@dataclasses.dataclass(frozen=True)
class Small:
    """A config of a test."""

    num_envs: int = 4
    """How many environments."""
    learning_rate: float = learning(1e-3, other_names=("lr",))
    """Step size of Adam."""
    colour: Literal["grey", "rgb"] = "grey"
    """What the agent sees."""
    double: bool = True
    """Double Q-learning."""
    init: Path | None = None
    """Checkpoint to start from."""
    widths: tuple[int, ...] = (32, 64)
    """Channels of each layer."""
    steps: Count = 5
    """Of the run."""
    share: Share = 0.5
    """Part of them that is looked at, which takes
    two lines."""
    rest: Share | None = None
    """Part of the others."""

    def __post_init__(self):
        if self.num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {self.num_envs}")


@pytest.fixture
def presets(tmp_path):
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "contest.yaml").write_text("num_envs: 8\nlearning_rate: 1e-4\nwidths: [1, 2, 3]\n")
    (folder / "empty.yaml").write_text("# nothing\n")
    return folder


def load(presets, *argv):
    return load_config(Small, list(argv), presets=presets, command="python -m small")


def test_no_arguments_give_the_defaults(presets):
    assert load(presets) == Small() == load(presets, "--preset", "empty")


@pytest.mark.parametrize("text", [".5", "0.5", "+.5", "5e-1", "00.5"])
def test_a_number_is_read_as_python_spells_it(presets, text):
    for whole in ("1e2", "+100"):
        words = ["--share", text, "--rest", text, "--num-envs", whole]
        assert load(presets, *words) == Small(share=0.5, rest=0.5, num_envs=100)


@pytest.mark.parametrize("text", ["+5", "+.5", "007", "1e2"])
def test_a_name_that_looks_like_a_number_stays_as_it_is(presets, text):
    assert from_dict(RunSettings, {"run_dir": text, "init": text}) == RunSettings(
        run_dir=text, init=text
    )
    assert load(presets, "--init", text).init == Path(text)


def test_numbers_of_numpy_are_taken_as_pythons():
    config = EnvConfig(stick_probability=np.float64(0.5), episode_steps=np.int64(7))
    assert repr(config) == repr(EnvConfig(stick_probability=0.5, episode_steps=7))
    assert repr(replaced(config, episode_steps=np.int64(9)).episode_steps) == "9"
    with pytest.raises(UserError, match=r"stick_probability 1\.5: expected a number from 0 to 1"):
        EnvConfig(stick_probability=np.float64(1.5))


def test_flags_win_over_file_over_preset_over_defaults(presets, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"learning_rate": 0.25, "double": False, "init": "runs/a"}))
    config = load(presets, "--config", str(file), "--double", "--preset=contest")
    assert config == Small(
        num_envs=8, learning_rate=0.25, double=True, init=Path("runs/a"), widths=(1, 2, 3)
    )
    assert load(presets, "--preset", "contest", "--num-envs", "2") == Small(
        num_envs=2, learning_rate=1e-4, widths=(1, 2, 3)
    )


@dataclasses.dataclass(frozen=True)
class Pair:
    """Of fields that must go together."""

    low: int = 0
    """One."""
    high: int = 0
    """The other."""
    words: tuple[str, ...] = ()
    """Any."""

    def __post_init__(self):
        if self.low > self.high:
            raise UserError("low is above high")


def test_flags_complete_what_a_file_begins(presets, tmp_path):
    (tmp_path / "half.yaml").write_text("low: 3\n")
    words = ["--config", str(tmp_path / "half.yaml")]
    assert load_config(Pair, [*words, "--high", "5"], presets=presets, command="") == Pair(3, 5)
    with pytest.raises(UserError, match="low is above high"):
        load_config(Pair, words, presets=presets, command="")


def test_words_that_are_given_in_parts_are_all_taken(presets):
    words = ["--words", "a", "b", "--words", "c"]
    assert load_config(Pair, words, presets=presets, command="").words == ("a", "b", "c")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--preset", "contst"], "unknown preset 'contst'; did you mean 'contest'?"),
        (["--preset", "zzz"], "expected one of: contest, empty"),
        (["--preset"], "--preset needs a value"),
        (["--config", "--double"], "--config needs a value"),
        (["--config", "nowhere.yaml"], "cannot read config file nowhere.yaml: No such file"),
        (["--num-envs", "3", "4"], "'4' belongs to no flag; join several values by commas"),
        (["--num-evns", "3"], "unknown flag --num-evns; did you mean '--num-envs'?"),
        (["--num_evns=3"], "did you mean '--num-envs'?"),
        (["--lr", "0.1"], "did you mean '--learning-rate'?"),
        (["--rate", "0.1"], "did you mean '--learning-rate'?"),
        (["--qwertz", "3"], "unknown flag --qwertz; see --help"),
        (["--num-envs", "many"], "--num-envs many: expected a whole number, such as 4"),
        (["--num-envs", "0"], "num_envs must be at least 1, got 0"),
        (["--colour", "red"], "--colour red: expected one of grey, rgb"),
        (["--steps", "0"], "--steps 0: expected a whole number of 1 or more, such as 5"),
        (["--steps=-3"], "--steps -3: expected a whole number of 1 or more"),
        (["--share", "1.5"], "--share 1.5: expected a number from 0 to 1"),
        (["--share", "nan"], "--share nan: expected a number from 0 to 1"),
        (["--num-envs"], "--num-envs needs a value"),
        (["--double=yes"], "--double takes no value"),
        (["--init", "a\nb", "--steps", "a\nb"], r"--steps 'a\nb': expected a whole number"),
        (["stray"], "stray"),
    ],
)
def test_bad_arguments_are_one_line(presets, argv, says):
    with pytest.raises(UserError) as caught:
        load(presets, *argv)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("num_evns: 3", "unknown field 'num_evns' for Small; did you mean 'num_envs'?"),
        ("num_envs: many", "--num-envs many"),
        ("num_envs: 0", "num_envs must be at least 1"),
        ("colour: red", "colour"),
        ("init: 3", "init"),
        ("steps: 0", "--steps 0: expected a whole number of 1 or more"),
        ("[1, 2]", "must hold one mapping"),
        ("a: [", "neither valid YAML nor JSON"),
        ("3: 4", "must hold one mapping"),
        ("steps: 3\nsteps: 4", "'steps' is given twice"),
        ("run:\n  seed: 1\n  'seed': 2", "'seed' is given twice"),
        ("seed: 1\nrun: {seed: 2}", "'seed' is given twice"),
        ("run: {3: 4}", "must hold one mapping"),
        ("a: " + "[" * 3000, "nested too deeply"),
        ("? [1, 2]\n: 3", "names that are no text"),
    ],
)
def test_bad_files_are_one_line(presets, tmp_path, text, says):
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(UserError) as caught:
        load(presets, "--config", str(tmp_path / "bad.yaml"))
    assert says in str(caught.value)
    assert r"\n" not in str(caught.value)


def test_yaml_may_take_a_mapping_over_and_change_it():
    text = "one: &one {a: 1, b: 2}\nother: {<<: *one, b: 3}"
    assert read_yaml(text)["other"] == {"a": 1, "b": 3}


def test_a_name_is_given_once_in_json_too(presets, tmp_path):
    (tmp_path / "bad.JSON").write_text('{"steps": 3, "steps": 4}')
    with pytest.raises(UserError, match="'steps' is given twice"):
        load(presets, "--config", str(tmp_path / "bad.JSON"))


def test_a_json_file_may_begin_with_a_byte_order_mark(presets, tmp_path):
    (tmp_path / "mine.json").write_text('{"steps": 3}', encoding="utf-8-sig")
    assert load(presets, "--config", str(tmp_path / "mine.json")).steps == 3


def test_help_explains_every_field(presets, capsys, monkeypatch):
    with pytest.raises(SystemExit) as stop:
        load(presets, "--preset", "contest", "--help")
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert "--num-envs" in text
    assert "Step size of Adam" in text
    assert "(default: 8)" in text
    assert "contest, empty" in text
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        load(presets, "-hh")
    assert "which takes two lines. (default: 0.5)" in capsys.readouterr().out


def test_a_command_may_have_no_presets(capsys):
    assert load(None, "--num-envs", "2").num_envs == 2
    with pytest.raises(UserError, match="unknown flag --preset"):
        load(None, "--preset", "x")
    with pytest.raises(SystemExit):
        load(None, "--help")
    assert "--preset" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"steps": 0}, "steps 0: expected a whole number of 1 or more"),
        ({"steps": "5"}, "steps '5': expected a whole number of 1 or more"),
        ({"share": 1.5}, "share 1.5: expected a number from 0 to 1"),
        ({"colour": "red"}, "colour 'red': expected one of grey, rgb"),
        (
            {"widths": (1, "a")},
            "widths (1, 'a'): expected a list whose entries are each a whole number",
        ),
    ],
)
def test_a_config_made_in_python_is_held_to_the_same_ranges(values, says):
    check(Small())
    with pytest.raises(UserError) as caught:
        check(dataclasses.replace(Small(), **values))
    assert says in str(caught.value)


@dataclasses.dataclass(frozen=True)
class Trained:
    """A config of a run of a test."""

    run: RunSettings = RunSettings(run_dir="runs/trained")
    parts: int = 1
    """Of the steps."""
    steps: int = 5
    """Of the run."""

    def __post_init__(self):
        if self.steps % self.parts:
            raise UserError("steps must be a multiple of parts")


@pytest.fixture
def begun(tmp_path):
    """A run that was begun with parts=4, steps=8."""
    RunFolder.create(
        tmp_path / "run", replaced(Trained(), run_dir=str(tmp_path / "run"), parts=4, steps=8)
    )
    return str(tmp_path / "run")


def resume(presets, *argv):
    return load_run_config(Trained, list(argv), presets=presets, command="python -m trained")


def test_a_resumed_run_keeps_its_config_under_a_file_and_flags(presets, tmp_path, begun):
    own = replaced(Trained(), run_dir=begun, parts=4, steps=8, resume=True)
    for words in (["--run-dir", begun, "--resume"], [f"--run_dir={begun}", "--resume"]):
        assert resume(presets, *words) == own
        # What would not fit the defaults fits the run.
        assert resume(presets, *words, "--parts", "2").parts == 2
        file = tmp_path / "longer.yaml"
        file.write_text("steps: 12\nnum_envs: 3\n")
        longer = resume(presets, *words, "--config", str(file), "--num-envs", "4")
        assert longer == replaced(own, steps=12, num_envs=4)
    file.write_text(f"run_dir: {begun}\nresume: true\n")
    assert resume(presets, "--config", str(file)) == own
    assert not resume(presets, "--config", str(file), "--no-resume").run.resume
    with pytest.raises(UserError, match="multiple"):
        resume(presets, *words, "--parts", "3")
    file.write_text("run_dir: 5\n")
    with pytest.raises(UserError, match="--run-dir 5: expected text, in quotes"):
        resume(presets, "--config", str(file))


def test_a_run_goes_on_from_what_it_began_with(presets, begun):
    words = ("--run-dir", begun, "--resume")
    assert resume(presets, *words, "--seed", "0") == resume(presets, *words)
    for flag, value in (("--seed", "4"), ("--init", "elsewhere")):
        with pytest.raises(UserError, match=f"{flag} {value} is for the start of a run"):
            resume(presets, *words, flag, value)


def test_a_preset_is_not_for_a_resumed_run(presets, begun):
    with pytest.raises(UserError, match="--preset empty is for the start"):
        resume(presets, "--run-dir", begun, "--resume", "--preset", "empty")
    assert resume(presets, "--preset", "empty") == Trained()


def test_a_command_that_is_repeated_begins_a_run_and_then_resumes_it(presets, begun):
    (presets / "quarters.yaml").write_text("parts: 4\n")
    words = ("--run-dir", begun, "--auto-resume", "--seed", "0")
    with pytest.raises(UserError, match="--auto-resume has no effect with --resume: leave one"):
        resume(presets, *words, "--resume")
    words += ("--preset", "quarters")
    first = resume(presets, *words, "--steps", "8")
    assert first.run.auto_resume and not first.run.resume  # nothing is saved yet
    (Path(begun) / "checkpoints/step-000000004").mkdir()
    (Path(begun) / "checkpoints/step-000000004/meta.json").touch()
    assert resume(presets, *words) == resume(presets, "--run-dir", begun, "--resume")
    for more, said in (
        ("--seed 4", "--seed 4 is for the start of a run"),
        ("--preset quarter", "did you mean 'quarters'"),
        ("--parts 3", "multiple"),
    ):
        with pytest.raises(UserError, match=said):
            resume(presets, *words, *more.split())


@dataclasses.dataclass(frozen=True)
class Playing(Trained):
    """Whose levels decide on its fields."""

    env: EnvSettings = env_settings()


def test_a_run_is_not_resumed_on_levels_of_other_games(presets, tmp_path):
    RunFolder.create(tmp_path, replaced(Playing(), run_dir=str(tmp_path), levels="bramble-train"))
    words = ["--run-dir", str(tmp_path), "--resume", "--levels", "procgen:maze"]
    with pytest.raises(UserError, match=r"learned on bramble-train, .* are of other games"):
        load_run_config(Playing, words, presets=presets, command="python -m playing")


@dataclasses.dataclass(frozen=True)
class Switched:
    """Fields that others switch on."""

    actors: int = 0
    noisy: bool = True
    optimiser: Literal["none", "adam"] = "none"
    block: int = field(16, only_with="actors")
    epsilon: float = field(1.0, only_with="noisy=False")
    rate: float = field(0.1, only_with=("optimiser", "actors"))
    share: float = 0.5
    double: bool = field(True, only_with="share=0")
    width: int = field(8, without="actors")


@pytest.mark.parametrize(
    ("given", "others"),
    [
        ("--block=4", "--actors"),
        ("--epsilon=0.5", "--no-noisy"),
        ("--rate=0.2", "--optimiser or --actors"),
        ("--no-double", "--share 0"),
    ],
)
def test_a_flag_that_nothing_would_read_is_refused(presets, given, others):
    flag = given.partition("=")[0]
    with pytest.raises(UserError, match=f"^{flag} has no effect without {others}: give that too"):
        load_config(Switched, [given], presets=presets, command="")
    on = ["--actors", "1", "--no-noisy", "--share", "0"]
    without = load_config(Switched, on, presets=presets, command="")
    assert load_config(Switched, [given, *on], presets=presets, command="") != without


def test_a_flag_that_nothing_would_read_beside_another_is_refused(presets):
    with pytest.raises(UserError, match=r"^--width has no effect with --actors: leave one out$"):
        load_config(Switched, ["--width=4", "--actors=1"], presets=presets, command="")
    assert load_config(Switched, ["--width=4"], presets=presets, command="").width == 4


def test_a_field_that_nothing_would_read_may_come_from_a_preset(presets):
    (presets / "blocks.yaml").write_text("block: 4\nepsilon: 0.5\n")
    config = load_config(Switched, ["--preset", "blocks"], presets=presets, command="")
    assert (config.block, config.epsilon) == (4, 0.5)
    assert replaced(config, block=8).block == from_dict(Switched, {"block": 8}).block == 8
