"""IMPALA: many actors play, one learner corrects for their older policies by V-trace."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
