"""Does Stable-Baselines3's PPO, with its own settings, learn on BrambleDash?

python -m lab.sb3_learns --seeds 3 --write

It plays BrambleDash/train-v0 in eight environments made by `make_vec_env`, on one thread, with
"CnnPolicy" and its default settings. Random play has the same environments. Scores are as in this
project's tables. Results: lab/sb3_learns.json. Needs the extra `benchmarks`.
"""

from typing import Any

import numpy as np

from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.results import ROOT, write_result
from retro_agents.ground.statistics import t_interval, welch_interval

STORED = ROOT / "lab/sb3_learns.json"
ENVS, STEPS, LAST = 8, 50_000, 15_000
"""Environments; steps of learning; the last of them whose episodes count."""
Episodes = list[tuple[int, float]]
"""For each episode, the steps of all environments when it ended, and its score."""


def ended(steps: int, infos: list[dict[str, Any]]) -> Episodes:
    """The episodes that a step has ended."""
    return [(steps, info["episode_record"]["r"]) for info in infos if "episode_record" in info]


def learn(seed: int, steps: int) -> tuple[Episodes, Episodes]:
    """The episodes of PPO as it learns, and those of as many steps of random play."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    def note(here: dict[str, Any], _: dict[str, Any]) -> bool:
        at = here["self"].num_timesteps
        learned.extend(ended(at, here["infos"]))
        return at < steps

    torch.set_num_threads(1)
    learned: Episodes = []
    envs = make_vec_env("retro_agents:BrambleDash/train-v0", n_envs=ENVS, seed=seed)
    PPO("CnnPolicy", envs, seed=seed, device="cpu").learn(steps, callback=note)
    envs.seed(seed)
    envs.reset()
    played: Episodes = []
    draws = np.random.default_rng(seed)
    for step in range(ENVS, steps + ENVS, ENVS):
        infos = envs.step(draws.integers(envs.action_space.n, size=ENVS))[3]  # type: ignore[attr-defined]
        played.extend(ended(step, infos))
    envs.close()
    return learned, played


def compared(runs: list[tuple[Episodes, Episodes]], steps: int) -> dict[str, Any]:
    """Mean scores of the last episodes of PPO and of all of random play, and their difference, with
    intervals over episodes. Raises UserError if fewer than two ended."""
    late = [score for learned, _ in runs for at, score in learned if at > steps - LAST]
    random = [score for _, played in runs for _, score in played]
    if min(len(late), len(random)) < 2:
        raise UserError("fewer than two episodes ended: give more --steps, or more --seeds")
    means = {"ppo": np.mean(late), "random": np.mean(random)}
    means["gain"] = means["ppo"] - means["random"]
    intervals = t_interval(late), t_interval(random), welch_interval(late, random)
    return {
        name: {"mean": round(float(mean)), "interval": [round(end) for end in interval]}
        for (name, mean), interval in zip(means.items(), intervals, strict=True)
    } | {"episodes": {"ppo": len(late), "random": len(random)}}


@command
def main() -> None:
    """Learn, compare, and store or print what was found."""
    parser = Parser(prog="python -m lab.sb3_learns", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many runs (default: 3)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each (default: {STEPS:,})")
    parser.add_argument("--write", action="store_true", help="store the result")
    given = parser.parse_args()
    runs = [learn(seed, given.steps) for seed in range(given.seeds)]
    found: dict[str, Any] = {"seeds": given.seeds, "steps": given.steps, "last": LAST}
    found |= compared(runs, given.steps)
    if given.write:
        write_result(STORED, found, module="lab.sb3_learns")
    print(found)


if __name__ == "__main__":
    main()
