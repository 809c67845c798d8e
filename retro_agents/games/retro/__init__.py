"""Levels of console games under the Retro Contest's rules."""
