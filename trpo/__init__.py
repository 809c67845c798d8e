"""TRPO: trust region policy optimisation, the natural gradient within a bound on the KL."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
