"""The contest: play a level under its rules, and score what came of it."""
