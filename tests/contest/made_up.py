"""A contest's folder without having played."""

import json

import numpy as np

from retro_agents.games.retro.integrations import rom_hash

GAME = "BrambleDash-Genesis-v0"
LEVELS = ("BrambleWood.Act3", "SnowRidge.Act4")


def write_job(out, level, seed, mean, *, game=GAME, **facts):
    """A level and seed, of three episodes where it has a mean -> its folder."""
    folder = out / f"{game}-{level}" / f"seed-{seed}"
    folder.mkdir(parents=True)
    result = {
        "level": f"{game}:{level}",
        "mean_return": mean,
        "best_return": mean,
        "episodes": 3 if mean is not None else 0,
        "finished": 1,
        "steps": 50,
        "seconds": 2.0,
        "status": "complete",
        **facts,
    }
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def write_contest(out, name, *, seeds, score, level="", game=GAME):
    """A contest's folder: ten episodes of 100 steps on each level, returns around `score`."""
    rng = np.random.default_rng(0)
    facts = {"episodes": 10, "finished": 0, "steps": 1000, "rom_sha1": rom_hash(GAME)}
    for state in [level] if level else LEVELS:
        for seed in range(seeds):
            returns = (score + rng.normal(0, 100, 10)).tolist()
            facts |= {"best_return": max(returns), "versions": {"numpy": "1"}}
            folder = write_job(out, state, seed, float(np.mean(returns)), game=game, **facts)
            rows = [
                f"{(i + 1) * 100},{game}:{state},{r},100,1,{r / 9000},0,1"
                for i, r in enumerate(returns)
            ]
            header = "step,level,r,l,t,progress,finished,complete"
            (folder / "episodes.csv").write_text("\n".join([header, *rows]) + "\n")
    known = {"name": name, "mode": None, "timesteps": 1000, "flags": [], "checkpoint": ""}
    (out / "contest.json").write_text(json.dumps(known))
    return out
