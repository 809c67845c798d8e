"""What agents remember and compute from it, and rewards for what was not seen before."""
