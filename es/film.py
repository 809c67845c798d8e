"""A film of a policy: one episode, played apart from the search."""

from pathlib import Path

from es.agent import ESAgent
from experiment.config import subset
from retro_env import EnvConfig, make_vec, parse_levels
from retro_env.video import convert


def film(agent: ESAgent, level: str, folder: Path, *, name: str) -> Path:
    """Play one episode of a level (GAME:STATE) without noise -> folder/name.mp4."""
    recordings = folder / f".{name}"
    settings = subset(agent.config, EnvConfig)
    envs = make_vec(parse_levels(level), num_envs=1, config=settings, record_dir=recordings)
    try:
        obs, _ = envs.reset()
        over = False
        while not over:
            obs, _, terminated, truncated, _ = envs.step(agent.act(obs))
            over = bool(terminated[0] or truncated[0])
    finally:
        envs.close()
    # The worker has begun a second episode; the first one's recording is the one that is whole.
    first = sorted(recordings.glob("**/*.bk2"))[0]
    kept = first.rename(folder / f"{name}.bk2")
    for left in sorted(recordings.glob("**/*"), reverse=True):
        left.rmdir() if left.is_dir() else left.unlink()
    recordings.rmdir()
    return convert(kept)
