"""Levels and how they are made: the one place that knows both families."""
