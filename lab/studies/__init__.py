"""Studies of learning: cells of agent × levels × seeds × budget."""
