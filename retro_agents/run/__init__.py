"""A run: its config, command line, folder, checkpoints and metrics; the registry of agents."""
