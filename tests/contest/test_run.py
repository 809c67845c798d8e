"""The contest as a command: processes, records, what is interrupted and gone on with."""

import json
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import Mock

import pytest

from jerk.train import main as train_jerk
from retro_agents.contest.compare import remarks
from retro_agents.contest.entries import contest_of
from retro_agents.contest.match.agent import Agent, resolve
from retro_agents.contest.match.folder import claim_folder, difference, job_folders
from retro_agents.contest.match.job import Job
from retro_agents.contest.report.contests import best_films, read_entries
from retro_agents.contest.run import main, report, run_all, tell
from retro_agents.games.retro.integrations import MORE_GAMES, OWN_GAMES, games
from retro_agents.games.retro.levels import Level
from retro_agents.ground.errors import UserError
from retro_agents.judging.score import episode_columns
from retro_agents.run.checkpoint import load_agent
from tests.agents.tiny import AGENTS

LEVEL = "BrambleDash-Genesis-v0:EmberFoundry.Act3"
OTHER = "BrambleDash-Genesis-v0:RustCavern.Act2"
HERE = Path(__file__).parent
LIMITS = {"timesteps": 1, "wall_clock": 1.0, "stall": 1.0, "roms": {}}


@pytest.fixture(autouse=True, scope="module")
def findable():
    """example_agent can be imported, here and in the processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        patch.setenv("PYTHONPATH", str(HERE))
        yield


def facts_of(*flags, name="rainbow"):
    """contest.json of an agent that adapts with these flags, as it is read back."""
    agent = resolve(Agent(name, device="cpu", flags=flags))
    return json.loads(json.dumps({**agent.facts(), **LIMITS}))


def test_content_of_files_tells_contests_apart(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("n_step: 3\n")
    before = facts_of("--config", str(file))
    assert difference(tmp_path, before, facts_of("--config", str(file))) == ""
    file.write_text("n_step: 7\n")
    after = facts_of("--config", str(file))
    assert "holds a contest with n_step 3, not 7" in difference(tmp_path, before, after)
    assert difference(tmp_path, after, facts_of("--n-step", "7")) == "", "the same in other words"
    scripts, policy = tmp_path / "mine.yaml", tmp_path / "policy"
    scripts.write_text("- parts: []\n")
    load_agent("ppo2").save(policy)
    flags = ("--preset", "hybrid", "--policy", str(policy), "--scripts", str(scripts))
    before = facts_of(*flags, name="jerk")
    assert difference(tmp_path, before, facts_of(*flags, name="jerk")) == ""
    scripts.write_text("- parts: []\n- parts: []\n")
    after = facts_of(*flags, name="jerk")
    assert "different contents of scripts" in difference(tmp_path, before, after)
    shutil.rmtree(policy)
    load_agent("rainbow").save(policy)
    again = facts_of(*flags, name="jerk")
    assert "different contents of policy" in difference(tmp_path, after, again)


@pytest.mark.parametrize("name", ["sight_every: 1000", "actors: 2"])
def test_what_a_file_sets_for_levels_of_ones_own_is_left_out(tmp_path, name):
    (tmp_path / "mine.yaml").write_text(f"{name}\nn_step: 7\n")
    settings = facts_of("--config", str(tmp_path / "mine.yaml"))["settings"]
    assert (settings["n_step"], settings[name.partition(":")[0]]) == (7, 0)


@pytest.mark.parametrize("name", AGENTS)
def test_a_contest_of_any_package_can_be_gone_on_with(tmp_path, name):
    """It is known again by what its folder says."""
    now = {**resolve(Agent(name, device="cpu")).facts(), **LIMITS}
    assert difference(tmp_path, facts_of(name=name), now) == ""


def contest(out, agent, *flags, levels=LEVEL, steps=100):
    own = ["--agent", agent, "--levels", levels, "--timesteps", str(steps), "--out", str(out)]
    main([*own, *(flags if "--seeds" in flags else ("--seeds", "1", *flags))])


def jobs(out):
    """result.json of each job, by its folder's name."""
    found = {}
    for path in sorted(out.glob("*/seed-*/result.json")):
        state = path.parent.parent.name.rpartition("-")[2]
        found[f"{state}/{path.parent.name}"] = json.loads(path.read_text())
    return found


BOTH = f"{LEVEL},{OTHER}"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a contest of two levels and two seeds."""
    out = tmp_path_factory.mktemp("played")
    contest(out, "random", "--seeds", "2", "--workers", "2", levels=BOTH)
    return out


@pytest.fixture
def copied(played, tmp_path):
    """The same in a folder that may be changed."""
    return Path(shutil.copytree(played, tmp_path / "copied"))


def test_every_level_and_seed_is_played_and_scored(played):
    found = jobs(played)
    assert list(found) == [
        f"{state}/seed-{seed}"
        for state in ("EmberFoundry.Act3", "RustCavern.Act2")
        for seed in (0, 1)
    ]
    for name, result in found.items():
        assert (result["steps"], result["status"]) == (100, "complete")
        assert f"seed-{result['seed']}" in name
        assert result["agent"]["name"] == "random"
        assert len(result["rom_sha1"]) == 40
        assert {"stable-retro", "torch"} <= set(result["versions"])
        folder = next(played.glob(f"*{name}"))
        assert (folder / "best.bk2").is_file()
        assert not (folder / "bk2").exists()
    total = json.loads((played / "result.json").read_text())["overall"]
    means = [
        [found[f"{s}/seed-{i}"]["mean_return"] for s in ("RustCavern.Act2", "EmberFoundry.Act3")]
        for i in (0, 1)
    ]
    assert total["by_seed"] == {str(i): pytest.approx(sum(row) / 2) for i, row in enumerate(means)}
    assert total["low"] <= total["mean"] <= total["high"]
    assert "| EmberFoundry.Act3 |" in (played / "table.md").read_text()
    assert len({result["mean_return"] for result in found.values()}) > 2  # seeds differ


def test_the_tables_title_says_how_a_frozen_agent_played(copied):
    facts = json.loads((copied / "contest.json").read_text())
    report(copied, facts | {"mode": "frozen", "play": "best"}, [])
    assert "random (frozen, --play best): 100 steps" in (copied / "table.md").read_text()


def test_films_are_of_games_beside_the_levels_too(tmp_path, monkeypatch, capsys):
    made = shutil.copytree(
        OWN_GAMES / "BrambleDash-Genesis-v0", tmp_path / "BrambleDash77-Genesis-v0"
    )
    (tmp_path / "one.csv").write_text(f"game,state\n{made.name},BrambleWood.Act1\n")
    monkeypatch.setenv(MORE_GAMES, "")
    contest(tmp_path / "out", "random", levels=str(tmp_path / "one.csv"), steps=20)
    monkeypatch.setattr(
        "retro_agents.contest.report.contests.film", lambda path: games()[made.name]
    )
    for found, count in ((made, "1/1 films"), (None, "0/1 films")):
        monkeypatch.setenv(MORE_GAMES, "")  # as in another process
        games.cache_clear()
        (shown,) = best_films(read_entries([tmp_path / "out"]))
        assert shown.film == found and count in capsys.readouterr().err
        monkeypatch.setattr(
            "retro_agents.contest.report.contests.film", Mock(side_effect=UserError)
        )
    games.cache_clear()


def test_interrupted_level_is_played_again_and_its_records_are_kept(copied):
    """With the same seed it comes to the same result."""
    path = next(copied.glob("*EmberFoundry.Act3/seed-0/result.json"))
    result = json.loads(path.read_text())
    expected = result.pop("status"), result["mean_return"]
    path.write_text(json.dumps(result))  # as if retro_agents.contest.run had been killed
    contest(copied, "random", "--seeds", "2", levels=BOTH)
    found = jobs(copied)["EmberFoundry.Act3/seed-0"]
    assert (found["status"], found["mean_return"]) == expected
    assert len(list(copied.glob("*/seed-*.interrupted-*/monitor.csv"))) == 1


def test_an_agent_that_leaves_at_once_is_in_the_table(tmp_path, monkeypatch):
    """Files of the user hide no modules from the contest's processes."""
    monkeypatch.setattr("retro_agents.contest.match.job.GRACE_SECONDS", 2.0)
    monkeypatch.chdir(tmp_path)
    for name in ("statistics", "jerk"):
        Path(f"{name}.py").write_text("raise RuntimeError")
    contest(tmp_path / "out", "example_agent:nothing")
    assert "the agent left" in (tmp_path / "out" / "table.md").read_text()
    assert [job["status"] for job in jobs(tmp_path / "out").values()] == ["complete"]
    facts = json.loads(Path("out/contest.json").read_text())
    facts["planned"].append([LEVEL, 7])
    Path("out/contest.json").write_text(json.dumps(facts))
    (line,) = remarks({"mine": contest_of("out")}, {})
    assert line.startswith("mine: 2 of 2 runs did not play all their steps")


def test_agent_that_leaves_has_played_and_what_it_leaves_running_is_ended(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 1.0)
    contest(tmp_path, "example_agent:leave_a_child")
    (result,) = jobs(tmp_path).values()
    assert (result["steps"], result["status"]) == (30, "complete")
    assert "seed 0: the run ended early (the client closed)" in (tmp_path / "table.md").read_text()
    said = capsys.readouterr().err
    assert said.endswith(
        "1 of 1 runs did not play all their steps: the contest ranks below complete ones\n"
    )
    assert "contest: 30/100 steps" in said
    contest(tmp_path, "example_agent:leave_a_child")  # a child would hold the lock
    assert "nothing left to do" in capsys.readouterr().err


def test_agent_that_changes_during_a_contest_plays_no_further_level(tmp_path, monkeypatch, refused):
    file = tmp_path / "changing_agent.py"
    file.write_text("def play(env):\n    env.reset()\n    open(__file__, 'a').write('#')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = refused(contest, tmp_path / "out", "changing_agent:play", levels=BOTH, noisy=True)
    other = "holds a contest of other code of changing_agent:play"
    assert f"the agent has changed since the contest began: {tmp_path / 'out'} {other}" in said
    assert len(jobs(tmp_path / "out")) == 1


def test_crashed_agent_counts_what_it_reached(tmp_path, capsys):
    contest(tmp_path, "example_agent:crash")
    (result,) = jobs(tmp_path).values()
    assert (result["steps"], result["status"]) == (60, "crashed")
    assert result["mean_return"] > 0
    told = capsys.readouterr()
    assert "the return it had reached counts" in told.out
    assert "ValueError: lost" in told.err
    contest(tmp_path, "example_agent:crash")  # it is over: nothing is played again
    assert "nothing left to do" in capsys.readouterr().err
    assert not list(tmp_path.glob("*/*interrupted*"))


def test_agent_that_crashes_before_playing_is_played_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("retro_agents.contest.match.job.GRACE_SECONDS", 0.0)
    with pytest.raises(SystemExit) as stop:
        contest(tmp_path, "example_agent:crash_before_playing")
    assert stop.value.code == 1
    assert "ValueError: no idea" in capsys.readouterr().err
    (result,) = jobs(tmp_path).values()
    assert (result["steps"], result["status"]) == (0, "crashed")


def test_package_adapts_through_its_own_loop(tmp_path, trained):
    _, checkpoint = trained("rainbow")
    flags = ["--checkpoint", str(checkpoint), "--device", "cpu", "--", "--learning-starts", "20"]
    contest(tmp_path, "rainbow", *flags)
    (result,) = jobs(tmp_path).values()
    assert (result["steps"], result["status"]) == (100, "complete")
    assert result["agent"]["flags"] == ["--learning-starts", "20"]
    (folder,) = tmp_path.glob("*/seed-0")
    config = json.loads((folder / "training" / "config.json").read_text())
    assert config["net"]["hidden"] == 16, "the checkpoint's"
    assert config["learning_starts"] == 20, "the flag's"
    run = config["run"]
    assert (run["num_envs"], run["timesteps"], run["seed"]) == (1, 100, 0)
    assert not (folder / "training" / "checkpoints").exists()
    before, after = (load_agent(path).net.state_dict() for path in (checkpoint, folder / "agent"))
    assert any((before[name] != after[name]).any() for name in before)


def test_wrong_setting_ends_a_contest_in_its_own_words_and_leaves_the_folder_to_others(
    tmp_path, refused, monkeypatch
):
    monkeypatch.setattr("retro_agents.contest.match.job.GRACE_SECONDS", 2.0)
    said = refused(contest, tmp_path, "example_agent:refuse", noisy=True)
    assert "no such setting" in said
    contest(tmp_path, "random", "--no-record", levels=OTHER, steps=20)
    assert {path.name for path in tmp_path.glob("*EmberFoundry.Act3/*")} == {"seed-0.interrupted-1"}
    levels = json.loads((tmp_path / "result.json").read_text())["levels"]
    assert [row["level"] for row in levels] == [OTHER]


def test_jobs_have_the_seeds_recordings_and_back_end_that_were_asked_for(tmp_path, monkeypatch):
    """contest.json is of all games that were played in its folder."""
    begun = Mock()

    def play(plan, out, begin, **_):
        for job in plan:
            begin(*job)
        path = tmp_path / "out" / "G-S" / "seed-0" / "result.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"status": "complete", "steps": 100}')

    monkeypatch.setattr("retro_agents.contest.run.Job", begun)
    monkeypatch.setattr("retro_agents.contest.run.run_all", play)
    monkeypatch.setattr("retro_agents.contest.run.report", Mock())
    flags = ["--first-seed", "3", "--seeds", "2", "--no-record", "--backend", "emulator"]
    with pytest.raises(SystemExit):  # nothing was played
        contest(tmp_path / "out", "random", *flags)
    assert [call.args[2] for call in begun.call_args_list] == [3, 4]
    told = {(call.args[0].record, call.args[0].facts["backend"]) for call in begun.call_args_list}
    assert told == {(False, "emulator")}
    path = tmp_path / "out" / "contest.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"roms": {"Other-Genesis-v0": "f"}}))
    with pytest.raises(SystemExit):
        contest(tmp_path / "out", "random", *flags)
    assert json.loads(path.read_text())["roms"] == {"Other-Genesis-v0": "f", **facts["roms"]}


class FakeJob:
    """A job that ends at its second look; the first one is refused."""

    ended: ClassVar[list[int]] = []

    def __init__(self, level, seed):
        self.name, self.folder, self.seed, self.looks = str(level), Path("nowhere"), seed, 0

    def poll(self):
        self.looks += 1
        return self.looks > self.seed

    def finish(self):
        if self.seed == 0:
            raise UserError("no memory is left")
        self.ended.append(self.seed)
        return "complete"

    def stop(self):
        raise AssertionError("a running job was stopped")


def test_a_job_that_is_refused_lets_the_running_ones_end(tmp_path):
    plan = [(Level("G", "S"), seed) for seed in range(3)]
    with pytest.raises(UserError, match="no memory is left"):
        run_all(plan, tmp_path, FakeJob, steps=1, workers=2)
    assert FakeJob.ended == [1]


class StoppedJob(FakeJob):
    """Ctrl-C is pressed as it finishes."""

    ended: ClassVar[list[int]] = []

    def finish(self):
        signal.raise_signal(signal.SIGINT)
        return super().finish()


def test_a_job_that_ctrl_c_finds_at_its_end_is_finished(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_all([(Level("G", "S"), 1)], tmp_path, StoppedJob, steps=1, workers=1)
    assert StoppedJob.ended == [1]


def test_a_table_of_jobs_that_are_set_aside_is_removed(tmp_path):
    (tmp_path / "G-S" / "seed-0").mkdir(parents=True)
    for name in ("contest.json", "result.json", "table.md", "G-S/seed-0/result.json"):
        (tmp_path / name).write_text("{}")
    claim_folder(tmp_path, facts_of(name="random"), [])
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    aside = "G-S/seed-0.interrupted-1"
    assert left == [aside, f"{aside}/result.json", "contest.json"]


def test_a_contest_does_not_begin_in_the_folder_of_something_else(tmp_path, refused):
    (tmp_path / "result.json").write_text("{}")
    assert "holds an evaluation; give another --out" in refused(contest, tmp_path, "random")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_other_agent_in_the_same_folder_is_refused(copied, refused):
    for agent, flags, word in (
        ("hold-right", (), "name random, not hold-right"),
        ("random", ("--timesteps", "30"), "timesteps 100, not 30"),
        ("random", ("--wall-clock", "1h"), "wall_clock 43200.0, not 3600.0"),
        ("random", (), "another ROM of BrambleDash"),
    ):
        if "ROM" in word:
            facts = json.loads((copied / "contest.json").read_text())
            facts["roms"] = dict.fromkeys(facts["roms"], "another")
            (copied / "contest.json").write_text(json.dumps(facts))
        assert word in refused(contest, copied, agent, *flags)


@pytest.mark.slow
def test_jerk_plays_the_same_episodes_in_a_contest_as_in_training(tmp_path: Path) -> None:
    words = ["--levels", "ThornKeep.Act1", "--timesteps", "2000"]
    out, preset = tmp_path / "contest", ["--preset", "recovering"]
    main(["--agent", "jerk", *words, "--first-seed", "3", "--seeds", "1", "--no-record",
          "--out", str(out), "--", *preset])  # fmt: skip
    train_jerk([*words, *preset, "--seed", "3", "--run-dir", str(tmp_path / "run")])
    (job,) = job_folders(out)
    judged, trained = episode_columns(job), episode_columns(tmp_path / "run")
    whole = judged["complete"].astype(bool)
    assert whole.sum() > 3
    for name in ("step", "r", "l", "finished"):
        assert judged[name][whole].tolist() == trained[name].tolist(), name


def test_an_interrupted_job_says_why(tmp_path, capsys):
    job = object.__new__(Job)
    job.folder, job.name, job.server = tmp_path, "Act1, seed 0", SimpleNamespace(returncode=2)
    (tmp_path / "server.log").write_text("begun\nerror: No space left on device\n")
    tell(job, "interrupted", over="1 of 1")
    assert "Act1, seed 0: No space left on device (more in" in capsys.readouterr().err
