"""How good an agent is, and whether it uses what it sees."""
