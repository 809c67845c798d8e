"""IMPALA: many actors play, one learner corrects for their older policies by V-trace."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
