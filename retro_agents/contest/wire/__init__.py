"""What both sides say to each other, and what the server writes down."""
