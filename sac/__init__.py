"""SAC: soft actor-critic for discrete actions, a policy that is rewarded for its entropy."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
