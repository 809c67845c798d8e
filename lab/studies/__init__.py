"""What learning is worth: cells of agent × levels × seeds × budget."""
