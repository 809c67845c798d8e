"""Flags that are gone, and what to give instead: what an error says of them."""

import re
from collections.abc import Collection

UNUSED = "it was removed, because no gain was measured: leave it out"
REMOVED = {
    "accumulate": "--microbatches replaces it",
    "act": "--play replaces it",
    "action_noise": "--draw-actions samples actions",
    "brightness": "--augment jitter changes brightness, contrast and saturation",
    "closed_loop": "--recover continues where a replay diverges",
    "distillation": "`python -m ppo2.clone` learns from another agent's recorded episodes",
    "embed": "--memory-key replaces it",
    "feature_cache": "it saved next to no time: leave it out",
    "frame_difference": "--frames 0,-1 shows both frames",
    "freeze_encoder_updates": "the convolutions of --init-encoder always learn",
    "learn": "--learn-every replaces it",
    "overlap": "--act-parts 2 steps one part while it chooses the actions of the other",
    "resample": "--redraw replaces it",
    "rnd_learning_rate": "the learning rate of --rnd is 1e-4: leave it out",
    "serial": "--preset serial plays one level after the other",
    "target_kl": "--kl-penalty and --kl-aim keep a policy near the one before",
    "truncate": "--cut-share replaces it",
    **dict.fromkeys(
        (
            *("backtracks", "by_success", "clip_schedule", "death_penalty"),
            *("levels_per_pair", "momentum", "novelty_colours", "novelty_progress", "piece"),
            *("rank", "shaping", "sigma_decay", "steps_growth", "trial_share"),
        ),
        UNUSED,
    ),
}
"""Former field -> advice, which may name flags."""


def instead(name: str, known: Collection[str]) -> str:
    """The advice for a former field where all flags that it names are known; otherwise ""."""
    advice = REMOVED.get(name, "")
    return advice if {*re.findall(r"--[a-z-]+", advice)} <= {*known} else ""
