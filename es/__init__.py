"""Evolution Strategies over MPI, on the last layers of a pretrained policy."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
