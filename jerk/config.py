"""Everything JERK can be told, in one place."""

from dataclasses import dataclass

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import HELD_OUT, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, NonNegative, Share, Threads, check
from retro_agents.run.config import only_with
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class JerkConfig:
    """Search a level with JERK: explore, remember what worked, replay it, mutate it."""

    run: RunSettings = RunSettings(levels=HELD_OUT, num_envs=1, rotate_every=0, run_dir="runs/jerk")
    env: EnvSettings = env_settings()

    # Where it goes
    log_every: Count = 1_000
    """Agent steps between rows of metrics.csv."""
    record: bool = False
    """Keep recordings (.bk2) in run_dir/recordings: of each level the best episode, and those that
    the sequences are the beginnings of."""
    write_replay: bool = False
    """Write the best runs to run_dir/replay, as rainbow.train --init and ppo2.clone take them."""
    runs: Count = only_with(4, "write_replay")
    """Runs per level that are written."""

    # The machine
    torch_threads: Threads = 0
    """CPU threads of the nets; 0: PyTorch decides."""

    # Exploring
    right_steps: Count = only_with(100, "rhythm=False")
    """Agent steps of a bout to the right."""
    left_steps: Count = only_with(70, "rhythm=False")
    """Agent steps of the bout to the left that follows one without reward."""
    jump_probability: Share = only_with(0.1, "rhythm=False")
    """Chance that a jump begins at a step."""
    jump_steps: Count = only_with(4, "rhythm=False")
    """Agent steps that a jump is held."""
    rhythm: bool = False
    """Instead of such bouts, jump in a rhythm drawn for each episode, and play scripts where that
    gets stuck."""
    scripts: str = only_with("seven-buttons", "rhythm")
    """What is tried there: a YAML file, or the name of one in jerk/scripts."""

    # Replaying
    exploit_bias: Share = 0.25
    """The chance that an episode is a plain replay, at the first step."""
    exploit_growth: NonNegative = 1.0
    """What it grows by in a run."""
    latest_returns: Natural = 0
    """Replays of a sequence that its mean return is of; 0: all."""
    go_on: bool = False
    """Explore from where a replay ends; without it, wait there for the end of the episode."""

    recover: bool = False
    """Where a replay's return is not what it should be at a step, go on with any good sequence from
    a step like this one; where there is none, explore. A replay's return is then its episode's."""
    slots: bool = False
    """Try variants of a sequence where its replays fail, each judged in its place."""

    # Mutating
    mutate: bool = False
    """Episodes that are no plain replay play the best sequence up to any of its steps, once there
    is one."""
    keep_ratio: Share = 0.0
    """A run is kept as a sequence where its return is more than this part of the best."""
    sequences: Count = 100
    """Sequences remembered per level; the worst goes first."""

    # Exploring with a policy and a memory (hybrid)
    policy: str = ""
    """A checkpoint of any agent that has a net; empty: the one that init gives, or none."""
    policy_replays: Share = only_with(0.0, "go_on")
    """Part of the bouts to the right that the policy plays in replays, where they have left their
    way or are over; where it has one, it plays the first episode on each level too."""
    policy_hold: Count = only_with(1, "policy_replays")
    """Agent steps that each of its actions is held: the fewer changes, the more often a replay gets
    through."""
    memory_share: Share = 0.0
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
NOT_INHERITED = {"policy": "", "record": False}
