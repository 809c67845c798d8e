"""The page about contests."""
