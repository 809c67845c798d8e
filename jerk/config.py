"""All settings of JERK, in one place."""

from dataclasses import dataclass

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import HELD_OUT, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, NonNegative, Share, Threads, check
from retro_agents.run.fields import fixed, learning, machine, report
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class JerkConfig:
    """Search a level with JERK: explore, remember what worked, replay it, mutate it."""

    run: RunSettings = RunSettings(levels=HELD_OUT, num_envs=1, rotate_every=0, run_dir="runs/jerk")
    env: EnvSettings = env_settings()

    log_every: Count = report(1_000)
    """Agent steps between rows of metrics.csv."""
    record: bool = report(False, "once", "contest", "switch")
    """Keep recordings (.bk2) in run_dir/recordings: each level's best episode, and those in which
    sequences were found."""
    write_replay: bool = report(False, "switch")
    """Write the best runs to run_dir/replay, for rainbow.train --init and ppo2.clone."""
    runs: Count = report(4, only_with="write_replay")
    """Number of runs written per level."""
    torch_threads: Threads = machine(0)
    """CPU threads of the nets; 0: PyTorch decides."""

    right_steps: Count = learning(100, group="Exploring", only_with="rhythm=False")
    """Agent steps of a bout of running right."""
    left_steps: Count = learning(70, only_with="rhythm=False")
    """Agent steps of the bout of running left that follows a bout without reward."""
    jump_probability: Share = learning(0.1, only_with="rhythm=False")
    """Probability per step that a jump begins."""
    jump_steps: Count = learning(4, only_with="rhythm=False")
    """Agent steps for which a jump is held."""
    rhythm: bool = learning(False)
    """Instead of bouts, jump in a rhythm drawn for each episode, and play scripts when stuck."""
    scripts: str = learning("seven-buttons", "file", only_with="rhythm")
    """Scripts to play when stuck: a YAML file, or the name of one in jerk/scripts."""

    exploit_bias: Share = learning(0.25, group="Replaying")
    """Probability that an episode is a plain replay, at the first step."""
    exploit_growth: NonNegative = learning(1.0)
    """Growth of that probability over a run."""
    latest_returns: Natural = learning(0)
    """Number of a sequence's latest replays that its mean return averages; 0: all."""
    go_on: bool = learning(False)
    """Explore from where a replay ends; if off, wait there for the end of the episode."""
    recover: bool = learning(False)
    """When a replay's return diverges from the recorded one, continue with any good sequence from a
    similar step; if there is none, explore. A replay's return is then its episode's."""
    slots: bool = learning(False)
    """Try variants of a sequence where its replays fail, judged by whether they get past."""

    mutate: bool = learning(False, group="Mutating")
    """Episodes that are no plain replay first play the best sequence, if any, to a random step."""
    keep_ratio: Share = learning(0.0)
    """A run becomes a sequence if its return exceeds this fraction of the best."""

    policy: str = fixed(
        "", "checkpoint", "once", group="Exploring with a policy and a memory (hybrid)"
    )
    """A checkpoint of any agent that has a net; empty: init's, if it has one, or none."""
    policy_replays: Share = learning(0.0, "switch", only_with="go_on")
    """Fraction of the bouts to the right that the policy plays in replays that have diverged or
    ended; with a policy, it also plays the first episode on each level."""
    policy_hold: Count = learning(1, only_with="policy_replays")
    """Agent steps for which each of its actions is held: fewer changes help replays."""
    memory_share: Share = learning(0.0, "switch")
    """Fraction of the bouts to the right that the episodic memory plays, unless empty."""

    def __post_init__(self) -> None:
        check(self)
        if self.run.practice:
            raise UserError("--practice is for agents that learn from single steps: leave it out")
        if self.slots and not (self.recover and self.go_on):
            raise UserError("slots need to know where a replay fails: add --recover --go-on")
        if self.policy_replays + self.memory_share > 1.0:
            raise UserError(
                "--memory-share and --policy-replays must be 1 or less together: lower "
                f"--memory-share {self.memory_share:g}, or the other"
            )


Config = JerkConfig
