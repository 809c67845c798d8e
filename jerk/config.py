"""All settings of JERK, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import HELD_OUT, env_settings, of_procgen
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, NonNegative, Positive, Share, Threads, check
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
    """Write the best episodes to run_dir/replay, for rainbow.train --init and ppo2.clone."""
    runs: Count = report(4, "memory", only_with=("write_replay", "learn_every"))
    """Number of best episodes per level that are written, or learned from."""
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
    exploit_power: Positive = learning(1.0, only_with="exploit_growth")
    """Power of the completed fraction of the run by which it grows; 1: evenly, more: near the
    end."""
    exploit_by_return: Share = learning(0.0)
    """Increase of that probability at a best mean return of 10,000, in proportion below."""
    latest_returns: Natural = learning(0)
    """Number of a sequence's latest replays that its mean return averages; 0: all."""
    go_on: bool = learning(False)
    """Explore from where a replay ends; if off, wait there for the end of the episode."""
    leave_after: Natural = learning(0, only_with=("go_on", "mutate"))
    """Agent steps without a new largest return after which an episode leaves its sequence or mutant
    and explores; 0: it plays it to its end. Without go_on only mutants are left."""
    recover: bool = learning(False)
    """When a replay's return diverges from the recorded one, continue with any good sequence from a
    similar step; if there is none, explore. A replay counts with its episode's largest return."""
    slots: bool = learning(False)
    """Try variants of a sequence where its replays fail, judged by whether they get past."""

    mutate: bool = learning(False, group="Mutating")
    """Episodes that are no plain replay first play a mutant of the best sequence, if any."""
    cut_share: Share = learning(1.0, only_with="mutate")
    """Largest fraction of a sequence cut off a mutant's end; all lengths are equally likely."""
    excise: bool = learning(False, only_with="mutate")
    """Also take a stretch of up to a fifth out of a mutant: with probability L / 100 for a sequence
    of L steps."""
    redraw: Share = learning(0.0, only_with="mutate")
    """Draw single actions of a mutant anew: the last with this probability times the fraction of
    10,000 points that the best sequence lacks, earlier ones less often, by e^-1 per 100 steps."""
    keep_ratio: Share = learning(0.0)
    """An episode becomes a sequence if its return exceeds this fraction of the best."""

    policy: str = fixed(
        "", "checkpoint", "once", group="Exploring with a policy and a memory (hybrid)"
    )
    """A checkpoint of any agent that has a net; empty: init's, if it has one, or none."""
    policy_share: Share = learning(0.0, "switch")
    """Fraction of exploration's bouts to the right that the policy plays, of those that the memory
    does not play."""
    policy_replays: Share = learning(0.0, "switch", only_with="go_on")
    """Fraction of the bouts to the right that the policy plays in replays that have diverged or
    ended; it also plays the first episode on each level, unless policy_share is given."""
    policy_hold: Count = learning(1, only_with=("policy_share", "policy_replays"))
    """Agent steps for which each action of the policy is held: fewer changes help replays."""
    memory_share: Share = learning(0.0, "switch")
    """Fraction of the bouts to the right that the episodic memory plays, unless empty."""
    memory_key: Literal["frames", "scores", "hidden"] = fixed("frames", only_with="memory_share")
    """How the memory finds similar observations: by small frames, by the policy's scores of actions
    (PPO2's logits), or by the outputs of the policy's fully connected layer."""
    memory_neighbours: Count = learning(50, only_with="memory_share")
    """Number of similar steps from which the memory chooses an action."""
    memory_best: bool = learning(False, only_with="memory_share")
    """Take the action of the similar step with the largest return; if off, that with the largest
    mean return, weighted by similarity."""
    memory_merge_above: NonNegative = learning(0.9995, only_with="memory_share")
    """Cosine from which two steps with the same action are merged, with the larger return; above 1:
    never."""
    memory_tables: bool = learning(False, only_with="memory_share", needs=("datasketch",))
    """Find similar observations by datasketch's LSH tables, instead of by the faster scan."""

    learn_every: Natural = fixed(0, group="Learning while it searches")
    """Agent steps per update, in which the policy learns to act as in the level's best episodes; 0:
    it does not learn."""
    batch_size: Count = learning(32, only_with="learn_every")
    """Steps of these episodes in an update's batch."""
    learning_rate: Positive = learning(1e-4, only_with="learn_every", other_names=("lr",))
    """Adam's learning rate."""

    def __post_init__(self) -> None:
        check(self)
        if of_procgen(self.run.levels):
            raise UserError("JERK plays only platform games: give levels such as bramble-train")
        if self.recover and not self.go_on:
            raise UserError("--recover lets a diverged replay explore: add --go-on to it")
        if self.slots and not self.recover:
            raise UserError("slots need to know where a replay fails: add --recover --go-on")
        if self.policy_replays + self.memory_share > 1.0:
            raise UserError(
                "--memory-share and --policy-replays must be 1 or less together: lower "
                f"--memory-share {self.memory_share:g}, or the other"
            )

    @property
    def needs_policy(self) -> bool:
        """Whether any setting needs a policy."""
        keyed = bool(self.memory_share) and self.memory_key != "frames"
        return bool(self.policy_share or self.policy_replays or self.learn_every or keyed)

    @property
    def keeps_runs(self) -> bool:
        """Whether the best runs are kept, with their frames."""
        return self.write_replay or self.learn_every > 0


Config = JerkConfig
