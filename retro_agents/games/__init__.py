"""Levels and environments of both families of games."""
