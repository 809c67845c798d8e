"""What several agents remember and compute."""
