"""Sweeps: an agent's fields over grids, and populations that change them as they learn."""
