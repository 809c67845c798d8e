"""Runs each level and seed in processes of its own, and computes the score."""
