"""What learning is worth: cells of agent × levels × seeds × budget."""

import experiment  # noqa: F401  (says what is missing before anything else is imported)
