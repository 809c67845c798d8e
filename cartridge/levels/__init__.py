"""The acts of BrambleDash: generator, art, checks, oracle. See README.md."""
