"""Scripts that measure speed, and their results."""
