"""BrambleDash, the free game that everything here is trained on: source, acts and integration."""
