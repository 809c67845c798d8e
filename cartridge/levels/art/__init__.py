"""The game's pictures, drawn in code: arrays of palette indices, 0 transparent."""
