"""The training acts and the held-out acts: acts of seen zones, and two unseen zones."""

from cartridge.levels.zones import ZONES
from retro_agents.games.retro.bramble import GAME


def level_names() -> list[str]:
    """The state of every act, in the order of the cartridge."""
    return [f"{zone.name}.Act{n}" for zone in ZONES for n in range(1, zone.acts + 1)]


def held_out() -> list[str]:
    """The states that no agent may train on, in the order of the cartridge."""
    return [f"{zone.name}.Act{n}" for zone in ZONES for n in zone.held_out]


def files() -> dict[str, str]:
    """The text of the two splits, by file name."""
    test = held_out()
    splits = {
        "bramble-train.csv": [name for name in level_names() if name not in test],
        "bramble-test.csv": test,
    }
    return {
        file: "game,state\n" + "".join(f"{GAME},{name}\n" for name in names)
        for file, names in splits.items()
    }
