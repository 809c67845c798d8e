"""Who plays, each level and seed in processes of its own, and the score."""
