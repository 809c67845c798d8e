"""Soft actor-critic for discrete actions: a policy that is rewarded for its entropy."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
