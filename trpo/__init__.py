"""TRPO: trust region policy optimisation, the natural gradient within a bound on the KL."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
