"""What several agents remember: recorded episodes."""
