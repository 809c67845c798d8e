# PYTHON_ARGCOMPLETE_OK
"""`python -m retro_agents` is the console command `retro-agents`."""

from retro_agents.command import main

if __name__ == "__main__":
    main()
