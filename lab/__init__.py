"""Experiments on the product: studies, benchmarks and the notebook."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
