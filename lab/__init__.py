"""Experiments on the product: studies, benchmarks and the notebook."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
