"""Procgen's games as Gymnasium's environments: Procgen/GAME-v0.

gymnasium.make("retro_agents:Procgen/coinrun-v0", num_levels=200)
gymnasium.make_vec("retro_agents:Procgen/coinrun-v0", num_envs=64, num_levels=200)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from retro_agents.contract.named import ENTRY_METADATA, OneRow, check_known, check_mode, rendered
from retro_agents.games.procgen.games import GAMES, PREFIX

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from retro_agents.games.procgen.vector import ProcgenVectorEnv


def register_games() -> None:
    """Register the games; EnvPool is imported only when one is made."""
    for game in GAMES:
        gymnasium.register(
            id=f"Procgen/{game}-v0",
            entry_point="retro_agents.games.procgen.register:make_game",
            vector_entry_point="retro_agents.games.procgen.register:make_games",
            kwargs={"game": game},
        )


def make_game(game: str, *, render_mode: str | None = None, **settings: Any) -> gymnasium.Env:
    """One game, whose level is drawn anew for each episode. settings: fields of ProcgenConfig.
    Raises TypeError if one is unknown, ValueError if the render_mode is, or UserError if that needs
    a display and there is none."""
    check_mode(render_mode, ENTRY_METADATA)
    drawn = int(np.random.SeedSequence().generate_state(1)[0])  # until a reset gives a seed
    return rendered(OneRow(_games(game, 1, drawn, settings)), render_mode)


make_game.metadata = ENTRY_METADATA  # type: ignore[attr-defined]  # where Gymnasium looks


def make_games(
    game: str,
    *,
    num_envs: int,
    seed: int = 0,
    render_mode: None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **settings: Any,
) -> VectorEnv:
    """Many environments of a game, which draw no pictures but their observations, and whose ended
    rows begin again at once. Raises ValueError if a render_mode or another autoreset_mode is
    given."""
    check_mode(render_mode, {"render_modes": []})
    if AutoresetMode(autoreset_mode) is not AutoresetMode.SAME_STEP:
        raise ValueError(
            "rows of Procgen cannot be reset singly, so they are SameStep: for another mode give "
            'vectorization_mode="sync", vector_kwargs={"autoreset_mode": …}'
        )
    return _games(game, num_envs, seed, settings)


def _games(game: str, num_envs: int, seed: int, settings: dict[str, Any]) -> ProcgenVectorEnv:
    from retro_agents.games.procgen.config import ProcgenConfig
    from retro_agents.games.procgen.vector import make_vec
    from retro_agents.run.config import from_dict

    check_known(ProcgenConfig, settings)
    config = from_dict(ProcgenConfig, settings)
    return make_vec(PREFIX + game, num_envs=num_envs, config=config, seed=seed)
