"""ES: Evolution Strategies over MPI, which search one layer of a pretrained policy."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
