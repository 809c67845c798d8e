from retro_agents.experience.replay import Replay
from retro_agents.run.checkpoint import load_checkpoint
from sac.training import Training
from tests.agents.tiny import train
from tests.conftest import Corridor


def test_a_run_goes_on_in_new_episodes_where_environments_save_no_states(tmp_path, monkeypatch):
    cut = []
    monkeypatch.setattr(Replay, "cut", lambda _, rings: cut.append(rings.tolist()))

    def envs():
        made = Corridor(2)
        made.saves_states = False  # as a contest's
        return made

    train("sac", tmp_path, envs=envs())
    train("sac", tmp_path, "--resume", "--timesteps", "90", envs=envs())
    assert load_checkpoint(tmp_path).counters["env_steps"] == 90
    assert cut[-1] == [0, 1]  # no transition leads from an old episode to a new one


def test_importance_weights_have_the_exponent_of_the_config(tmp_path, monkeypatch):
    drawn, learn = set(), Training.learn
    monkeypatch.setattr(
        Training, "learn", lambda self, *, beta: drawn.add(beta) or learn(self, beta=beta)
    )
    train("sac", tmp_path, "--prioritised", "--priority-beta", 0.7, envs=Corridor(2))
    assert drawn == {0.7}
