"""A contest's folder without having played."""

import json

import numpy as np

from retro_agents.games.retro.integrations import rom_hash

GAME = "BrambleDash-Genesis-v0"
LEVELS = ("BrambleWood.Act3", "SnowRidge.Act4")


def write_contest(out, name, *, seeds, score, level="", game=GAME):
    """A contest's folder: ten episodes of 100 steps on each level, returns around `score`."""
    rng = np.random.default_rng(0)
    rom = rom_hash(GAME)
    for state in [level] if level else LEVELS:
        for seed in range(seeds):
            folder = out / f"{game}-{state}" / f"seed-{seed}"
            folder.mkdir(parents=True)
            returns = (score + rng.normal(0, 100, 10)).tolist()
            rows = [
                f"{(i + 1) * 100},{game}:{state},{r},100,1,{r / 9000},0,1"
                for i, r in enumerate(returns)
            ]
            header = "step,level,r,l,t,progress,finished,complete"
            (folder / "episodes.csv").write_text("\n".join([header, *rows]) + "\n")
            result = {
                "level": f"{game}:{state}",
                "mean_return": float(np.mean(returns)),
                "best_return": max(returns),
                "episodes": 10,
                "finished": 0,
                "steps": 1000,
                "seconds": 3.0,
                "status": "complete",
                "rom_sha1": rom,
                "versions": {"numpy": "1"},
            }
            (folder / "result.json").write_text(json.dumps(result))
    facts = {"name": name, "mode": None, "timesteps": 1000, "flags": [], "checkpoint": ""}
    (out / "contest.json").write_text(json.dumps(facts))
    return out
