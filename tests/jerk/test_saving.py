import json
from itertools import chain

import stable_retro

from jerk.recordings import Recordings
from jerk.train import main
from jerk.training import Training
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.native import NativeVectorEnv
from retro_agents.run.checkpoint import load_agent, load_checkpoint
from retro_agents.run.folder import alone_in
from retro_agents.run.metrics import read_columns
from tests.jerk.driving import preset_config

LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1"


def buttons_of(recording):
    """The buttons held in each frame of a .bk2."""
    movie, held = stable_retro.Movie(str(recording)), []
    movie.step()
    while movie.step():
        held.append({name for button, name in enumerate(BUTTON_NAMES) if movie.get_key(button, 0)})
    return held


def test_recordings_stay_of_the_best_episode_of_those_asked_for_and_of_what_runs(tmp_path):
    (tmp_path / "env-00").mkdir()
    recordings = Recordings(tmp_path, 2)
    files = [f"env-00/G-v0-S-{number:06d}.bk2" for number in range(5)]
    for name in (*files, "env-00/mine.bk2"):
        (tmp_path / name).touch()
    assert [recordings.ended(0, "G-v0:S", r) for r in (5.0, 3.0, 9.0, 9.0)] == files[:4]
    recordings.prune({files[0]})
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*.bk2"))
    assert left == [files[0], files[2], files[4], "env-00/mine.bk2"]
    again = Recordings(tmp_path, 2)
    again.restore(recordings.save())
    assert again.save() == recordings.save() and again.best["G-v0:S"][0] == 9.0
    assert Recordings(tmp_path, 2).episodes == [5, 0]  # as new recorders number them


def test_a_run_that_another_process_writes_is_not_touched(tmp_path, monkeypatch, refused):
    own = ["--run-dir", str(tmp_path), "--record"]
    main([*own, "--preset", "mutating", "--levels", LEVEL, "--timesteps", "300"])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.bk2")}
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    monkeypatch.setattr(NativeVectorEnv, "restore_states", None)
    with alone_in(tmp_path):
        said = refused(main, [*own, "--resume", "--timesteps", "600"])
    assert "another process writes" in said
    assert before and before == {path: path.read_bytes() for path in tmp_path.rglob("*.bk2")}


def test_an_agent_needs_no_scripts_to_act(tmp_path):
    scripts = tmp_path / "own.yaml"
    scripts.write_text("- {name: a, chance: [1, 1], parts: [{press: B}]}")
    flags = ["--preset", "recovering", "--scripts", str(scripts), "--levels", LEVEL]
    main([*flags, "--timesteps", "300", "--run-dir", str(tmp_path / "run")])
    scripts.unlink()
    assert len(load_agent(tmp_path / "run").sequences)


def test_command_searches_two_levels_records_and_resumes(tmp_path):
    own = ["--run-dir", str(tmp_path / "run")]
    first = [
        *("--preset", "mutating", "--levels", f"{LEVEL},{LEVEL[:-1]}2", "--num-envs", "2"),
        *("--rotate-every", "100", "--timesteps", "400", "--record", "--log-every", "100"),
    ]
    main([*own, *first])
    main([*own, "--resume", "--timesteps", "500"])
    run_dir = tmp_path / "run"
    assert read_columns(run_dir / "metrics.csv")["step"].tolist() == list(range(100, 600, 100))
    sequences = json.loads((run_dir / "sequences.json").read_text())
    assert set(sequences["levels"]) == {LEVEL, f"{LEVEL[:-1]}2"}
    ended = load_checkpoint(run_dir).state["recordings"]["best"]
    named = {name for _, name in ended.values()}
    named |= {s["recording"] for found in sequences["levels"].values() for s in found}
    written = {f"{path.parent.name}/{path.name}" for path in run_dir.glob("recordings/*/*.bk2")}
    assert len(ended) == 2 and named <= written
    assert len(written - named) <= 2  # the episodes that the end of the run cut
    skip = sequences["frame_skip"]
    for sequence in chain(*sequences["levels"].values()):
        pressed = buttons_of(run_dir / "recordings" / sequence["recording"])
        asked = [set(sequences["buttons"][action].split()) for action in sequence["actions"]]
        whole = asked if len(pressed) >= skip * len(asked) else asked[:-1]  # an end within a step
        assert pressed[skip - 1 :: skip][: len(whole)] == whole  # sticky is a step's first frame
    another = Training(preset_config("mutating"), 1)
    another.agent.start_from(run_dir)
    assert len(another.sequences) > 0 and not another.sequences.recordings()
