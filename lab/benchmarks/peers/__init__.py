"""Other projects, timed at the same work."""
