"""Evolution Strategies over MPI, on one layer of a pretrained policy, the fully connected one."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
