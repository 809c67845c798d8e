"""Procgen: sixteen games whose levels are made by a seed, on EnvPool."""
