"""Procgen: sixteen games whose levels are generated from a seed, on EnvPool."""
