"""Everything JERK can be told, in one place."""

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
    """Keep recordings (.bk2) in run_dir/recordings: of each level the best episode, and those that
    the sequences are the beginnings of."""
    write_replay: bool = report(False, "switch")
    """Write the best runs to run_dir/replay, as rainbow.train --init and ppo2.clone take them."""
    runs: Count = report(4, only_with="write_replay")
    """Runs per level that are written."""
    torch_threads: Threads = machine(0)
    """CPU threads of the nets; 0: PyTorch decides."""

    right_steps: Count = learning(100, group="Exploring", only_with="rhythm=False")
    """Agent steps of a bout to the right."""
    left_steps: Count = learning(70, only_with="rhythm=False")
    """Agent steps of the bout to the left that follows one without reward."""
    jump_probability: Share = learning(0.1, only_with="rhythm=False")
    """Chance that a jump begins at a step."""
    jump_steps: Count = learning(4, only_with="rhythm=False")
    """Agent steps that a jump is held."""
    rhythm: bool = learning(False)
    """Instead of such bouts, jump in a rhythm drawn for each episode, and play scripts where that
    gets stuck."""
    scripts: str = learning("seven-buttons", "file", only_with="rhythm")
    """What is tried there: a YAML file, or the name of one in jerk/scripts."""

    exploit_bias: Share = learning(0.25, group="Replaying")
    """The chance that an episode is a plain replay, at the first step."""
    exploit_growth: NonNegative = learning(1.0)
    """What it grows by in a run."""
    latest_returns: Natural = learning(0)
    """Replays of a sequence that its mean return is of; 0: all."""
    go_on: bool = learning(False)
    """Explore from where a replay ends; without it, wait there for the end of the episode."""
    recover: bool = learning(False)
    """Where a replay's return is not what it should be at a step, go on with any good sequence from
    a step like this one; where there is none, explore. A replay's return is then its episode's."""
    slots: bool = learning(False)
    """Try variants of a sequence where its replays fail, each judged in its place."""

    mutate: bool = learning(False, group="Mutating")
    """Episodes that are no plain replay play the best sequence up to any of its steps, once there
    is one."""
    keep_ratio: Share = learning(0.0)
    """A run is kept as a sequence where its return is more than this part of the best."""

    policy: str = fixed(
        "", "checkpoint", "once", group="Exploring with a policy and a memory (hybrid)"
    )
    """A checkpoint of any agent that has a net; empty: the one that init gives, or none."""
    policy_replays: Share = learning(0.0, "switch", only_with="go_on")
    """Part of the bouts to the right that the policy plays in replays, where they have left their
    way or are over; where it has one, it plays the first episode on each level too."""
    policy_hold: Count = learning(1, only_with="policy_replays")
    """Agent steps that each of its actions is held: the fewer changes, the more often a replay gets
    through."""
    memory_share: Share = learning(0.0, "switch")
    """Part of the bouts to the right that the episodic memory plays, as soon as it remembers
    something."""

    def __post_init__(self) -> None:
        check(self)
        if self.slots and not (self.recover and self.go_on):
            raise UserError("slots need to know where a replay fails: add --recover --go-on")
        if self.policy_replays + self.memory_share > 1.0:
            raise UserError(
                "--memory-share and --policy-replays must be 1 or less together: lower "
                f"--memory-share {self.memory_share:g}, or the other"
            )


Config = JerkConfig
