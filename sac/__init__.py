"""Soft actor-critic for discrete actions: a policy that is paid for staying random."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
